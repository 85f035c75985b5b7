"""Records the statements of a load, so that users can read what was executed. Values of parameters are not recorded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from inspect import cleandoc
from typing import Any, Self

from psycopg import Cursor
from psycopg.abc import Query
from psycopg.sql import Composable

from executors.postgres.ddl import Conn

MOST_STATEMENTS = 100
LONGEST = 10_000


@contextmanager
def recorded(conn: Conn) -> Iterator[list[str]]:
    """Collect the texts of the statements that the connection executes within the block, in order."""
    texts: list[str] = []

    class Recorder(Cursor[Any]):
        def execute(self, query: Query, *args: Any, **more: Any) -> Self:
            if len(texts) < MOST_STATEMENTS:
                texts.append(_text(query, conn))
            return super().execute(query, *args, **more)

    plain = conn.cursor_factory
    conn.cursor_factory = Recorder
    try:
        yield texts
    finally:
        conn.cursor_factory = plain


def _text(query: Query, conn: Conn) -> str:
    text = query.as_string(conn) if isinstance(query, Composable) else query
    text = text.decode() if isinstance(text, bytes) else str(text)
    text = cleandoc(text)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
