"""Describe a file format for people."""

from __future__ import annotations

from collections.abc import Iterator

from ir.formats import Delimited, Format, Xml

_SIGNS = {"\t": "tab", " ": "space"}


def describe_format(fmt: Format) -> Iterator[tuple[str, str]]:
    """Yield the settings of a format, each with its value."""
    yield "Format", fmt.type
    if isinstance(fmt, Delimited):
        yield "Delimiter", _SIGNS.get(fmt.delimiter, fmt.delimiter)
        yield "Quote", fmt.quote
        yield "Encoding", fmt.encoding
        yield "First line", "column names" if fmt.header else "a row"
        yield "Texts for NULL", ", ".join(fmt.null_values) or "none"
    if isinstance(fmt, Xml):
        yield "Record path", fmt.record_path
        yield "Repeated elements", ", ".join(fmt.repeated) or "none"
