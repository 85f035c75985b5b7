"""The result of a command: a JSON document, a text for people, and the exit status."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

UNLIMITED = 10_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a command. `show` prints the document for people on the given console; `to_stderr` marks messages
    that are no result."""

    document: dict[str, Any]
    show: Callable[[Console], None]
    status: int = 0
    to_stderr: bool = False

    def print(self, as_json: bool) -> None:
        if as_json:
            sys.stdout.write(json.dumps(self.document, ensure_ascii=False, indent=2, default=_plain) + "\n")
            sys.stdout.flush()
        else:
            self.show(stderr() if self.to_stderr else stdout())


def _plain(value: Any) -> str:
    """Convert times to ISO 8601 with Z, and other objects (UUIDs, decimals) to text."""
    return value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else str(value)


def stdout() -> Console:
    return Console(highlight=False, emoji=False, width=_width(sys.stdout))


def stderr() -> Console:
    """Return the console for progress and messages."""
    return Console(stderr=True, highlight=False, emoji=False, width=_width(sys.stderr))


def _width(stream: TextIO) -> int | None:
    """Return the terminal's width; output to a file or another program is never wrapped or cut."""
    return None if stream.isatty() else UNLIMITED


def text_outcome(document: dict[str, Any], *lines: str) -> Outcome:
    """Return an outcome of plain text lines. No markup is interpreted."""
    return Outcome(document, lambda console: show_lines(console, lines))


def show_lines(console: Console, lines: Iterable[str]) -> None:
    for line in lines:
        console.print(printable(line), markup=False, soft_wrap=True)  # Do not wrap: users copy links and commands.


def listed(key: str, rows: Sequence[dict[str, Any]], columns: dict[str, str], empty: str) -> Outcome:
    """Return a list outcome: `{key: rows}` as JSON; for people a table of `columns` (row key → heading), or `empty`."""

    def show(console: Console) -> None:
        if rows:
            show_table(console, columns, rows)
        else:
            console.print(empty, markup=False)

    return Outcome({key: list(rows)}, show)


def minute(moment: str | None) -> str | None:
    """Format a document's time for tables."""
    return moment and moment[:16].replace("T", " ")


def show_table(console: Console, columns: dict[str, str], rows: Iterable[dict[str, Any]]) -> None:
    """Print a table without borders. Numbers are right-aligned with thousands separators."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    cells = [[row.get(key) for key in columns] for row in rows]
    for index, heading in enumerate(columns.values()):
        right = any(_is_number(line[index]) for line in cells)
        justify: Literal["right", "left"] = "right" if right else "left"
        table.add_column(heading, justify=justify, overflow="fold", no_wrap=console.width == UNLIMITED)
    for line in cells:
        table.add_row(*(Text(cell_text(value)) for value in line))
    console.print(table)


def cell_text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if _is_number(value) else printable(str(value))


def printable(text: str) -> str:
    """Return the text with terminal control characters escaped."""
    return text.translate(_CONTROLS)


_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"}
"""Terminals execute such characters, and the text may come from any file."""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
