"""The columns of text of fixed width, from the blanks that all lines have at the same positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from executors.detection.dialect import DELIMITERS, has_header
from executors.formats.columns import names_from_header
from ir.formats import FixedWidth

_LINES, _LEAST = 1000, 3


@dataclass(frozen=True, slots=True)
class Layout:
    """The first characters of the columns, counted from 0, and the length of the lines."""

    starts: tuple[int, ...]
    length: int

    def cut(self, line: str) -> list[str]:
        return [line[start:end].strip() for start, end in pairwise((*self.starts, self.length))]


def layout_of(text: str, *, is_whole: bool, is_given: bool) -> FixedWidth | None:
    """Return the format of a text whose lines have one length and columns with gaps; None for other texts. A text that
    `is_given` as one of fixed width may also have a single column, or characters that delimit values."""
    lines = [line for line in text.splitlines() if line.strip()][: _LINES + 1]
    lines = lines[:-1] if len(lines) > _LINES or not is_whole else lines
    if len(lines) < (1 if is_given else _LEAST) or len(set(map(len, lines))) > 1:
        return None
    if not is_given and any(all(delimiter in line for line in lines) for delimiter in DELIMITERS):
        return None
    layout = Layout(_starts(lines, is_given), len(lines[0]))
    if len(layout.starts) < 2 and not is_given:
        return None
    header = has_header([layout.cut(line) for line in lines])
    cells = layout.cut(lines[0]) if header else [""] * len(layout.starts)
    names, _ = names_from_header(cells)
    widths = [end - start for start, end in pairwise((*layout.starts, layout.length))]
    columns = [{"name": name, "width": width} for name, width in zip(names, widths, strict=True)]
    return FixedWidth.read({"type": "fixed_width", "columns": columns, "skipLines": int(header)})


def _starts(lines: Sequence[str], is_given: bool) -> tuple[int, ...]:
    """Return where columns begin: after blanks that all lines have. One blank between characters in all lines, such as
    that of a timestamp, is no gap. A column that is aligned to the right, as numbers are, gets the blanks before it,
    for longer values in lines that were not read."""
    length = len(lines[0])
    blank = [all(line[at] == " " for line in lines) for at in range(length)]
    gaps: list[tuple[int, int]] = []
    at = 1
    while at < length - 1:
        end = at
        while end < length and blank[end]:
            end += 1
        if at < end < length:
            is_wide = end - at > 1 or any(" " in (line[at - 1], line[end]) for line in lines)
            if is_wide or is_given:
                gaps.append((at, end))
        at = end + 1
    ends = [*(start for start, _ in gaps[1:]), length][: len(gaps)]
    starts = [0]
    for (start, end), column_end in zip(gaps, ends, strict=True):
        is_right = all(line[column_end - 1] != " " for line in lines) and any(line[end] == " " for line in lines)
        starts.append(start if is_right else end)
    return tuple(starts)
