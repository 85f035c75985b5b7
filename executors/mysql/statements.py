"""Composes statements of MySQL with psycopg's `sql` module, whose own identifiers have PostgreSQL's quotes."""

from __future__ import annotations

from psycopg import sql
from psycopg.abc import AdaptContext


class Name(sql.Composable):
    """A name, or several that are joined by dots, as MySQL writes identifiers."""

    def __init__(self, *parts: str) -> None:
        super().__init__(parts)

    def as_bytes(self, context: AdaptContext | None = None) -> bytes:
        return ".".join("`" + part.replace("`", "``") + "`" for part in self._obj).encode()


def text_of(statement: sql.Composable, tag: str) -> str:
    """Return the text of a statement with a comment by which `client.interrupt` finds it."""
    return f"/* {tag} */ {statement.as_string()}"
