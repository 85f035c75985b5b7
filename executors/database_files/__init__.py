"""Databases that are one file: one module for each kind, named by dotted path so that only the one in use is loaded."""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from psycopg import sql

from executors.database_files.base import Column, FileSession
from executors.reading import Bound
from ir.file_queries import Grammar
from ir.kinds import KindTable

_ENGINES: KindTable[str] = KindTable(
    "database file",
    (
        ("sqlite", "executors.database_files.sqlite"),
        ("duckdb", "executors.database_files.duckdb"),
    ),
)


class Engine(Protocol):
    """A kind of database file. While a session is open, `is_shared` says whether no one else can change the file."""

    is_shared: bool
    log_suffix: str
    """The end of the name of the file beside it that holds its newest changes."""

    def connect(self, path: Path, seconds: float) -> AbstractContextManager[FileSession]:
        """Open a file for reading only. All statements together take at most `seconds`. Raises Failure."""

    def past(self, column: Column, bound: Bound) -> sql.Composable | None:
        """Return the condition for the rows at or above a bound and for those that have no place in its order; None if
        the database does not compare the values as the target does."""


def engine_of(grammar: Grammar) -> Engine:
    return cast(Engine, import_module(_ENGINES[grammar]).ENGINE)
