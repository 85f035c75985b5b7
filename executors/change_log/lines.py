"""Lines of rows: records of CSV in the form that COPY writes, so that they are read like rows of a table."""

from __future__ import annotations


def cell(value: object) -> bytes:
    """Return a value as CSV. All but bytes is NULL and empty; a text is quoted, so that an empty one is no NULL."""
    if not isinstance(value, bytes):
        return b""
    return b'"' + value.replace(b'"', b'""') + b'"' if b'"' in value else b'"' + value + b'"'


def split_line(line: bytes) -> list[bytes]:
    """Return the cells of a line as they are written."""
    cells: list[bytes] = []
    at, end = 0, len(line) - 1
    while at <= end:
        if line[at : at + 1] != b'"':
            close = line.find(b",", at, end)
            close = end if close < 0 else close
        else:
            close = line.index(b'"', at + 1)
            while line[close + 1 : close + 2] == b'"':
                close = line.index(b'"', close + 2)
            close += 1
        cells.append(line[at:close])
        at = close + 1
    return cells
