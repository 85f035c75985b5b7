"""Composes statements for databases with an Arrow driver."""

from __future__ import annotations

from collections.abc import Callable

from psycopg import sql
from psycopg.abc import AdaptContext


class QuotedName(sql.Composable):
    """A name, or several that are joined by dots, each written by `quote`."""

    def __init__(self, quote: Callable[[str], str], *parts: str) -> None:
        super().__init__((quote, parts))

    def as_bytes(self, context: AdaptContext | None = None) -> bytes:
        quote, parts = self._obj
        return ".".join(map(quote, parts)).encode()


def in_quotes(name: str) -> str:
    """Return a name in double quotes."""
    return '"' + name.replace('"', '""') + '"'


def in_brackets(name: str) -> str:
    return "[" + name.replace("]", "]]") + "]"


def in_backticks(name: str) -> str:
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"
