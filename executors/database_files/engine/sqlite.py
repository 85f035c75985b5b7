"""SQLite files. Every value keeps its own type there, so all arrive as text and Flow's grammar decides about each."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from executors.database_files.engine.base import (
    EngineLimits,
    EngineSession,
    FoundColumn,
    Refused,
    TextRows,
    disk_is_full,
    locked,
    not_a_database,
    refused,
    require_unique,
    row_too_long,
)
from executors.database_files.stamp import Stamp

LOG_SUFFIX = "-wal"
_BUSY_SECONDS = 10.0
_FIRST_ROWS, _MOST_ROWS = 4, 16_384

_ALLOWED = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE})
_FUNCTIONS_REFUSED = frozenset({"load_extension", "fts3_tokenizer"})

_DECIMAL = re.compile(r"(?:decimal|numeric)\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)", re.IGNORECASE)
_MOST_DIGITS = 38
_RENAMED = re.compile(r"(.+):[0-9]+")
"""The name that SQLite gives to a repeated column of a subquery: `id:1`."""
_TYPES = (
    ("INT", "bigint"),
    ("BOOL", "boolean"),
    ("CHAR", "string"),
    ("CLOB", "string"),
    ("TEXT", "string"),
    ("BLOB", "binary"),
    ("REAL", "float"),
    ("FLOA", "float"),
    ("DOUB", "float"),
    ("JSON", "json"),
    ("DATETIME", "timestamp"),
    ("TIMESTAMP", "timestamp"),
    ("DATE", "date"),
    ("TIME", "time"),
)
"""By a part of the declared type, in order, as in SQLite's own rules. Everything else is text."""


class SqliteSession(EngineSession):
    def __init__(self, conn: sqlite3.Connection, path: Path, limits: EngineLimits) -> None:
        self._conn, self._path, self._limits = conn, path, limits

    def columns(self, statement: str) -> Sequence[FoundColumn]:
        """A view has the declared types of the columns that a query only passes on."""
        with self._translated():
            names = [name for name, *_ in self._conn.execute(f"{statement} LIMIT 0").description]
            require_unique(self._path.name, [_RENAMED.sub(r"\1", name) for name in names])
            with self._unguarded():
                self._conn.execute(f"CREATE TEMP VIEW flow_types AS {statement}")
                found = self._conn.execute("PRAGMA temp.table_xinfo(flow_types)").fetchall()
                self._conn.execute("DROP VIEW temp.flow_types")
        declared = [kind.decode(errors="replace") for _, _, kind, *_ in found]
        return [_column(name, kind) for name, kind in zip(names, declared, strict=True)]

    def rows(self, statement: str, columns: Sequence[FoundColumn]) -> Iterator[TextRows]:
        from executors.database_files.engine.sqlite_text import Text, as_text

        self._conn.text_factory = Text
        before = Stamp.of(self._path, LOG_SUFFIX)
        with self._translated():
            # Only in this mode may other processes write to the file while it is read.
            is_wal = self._is_wal()
            cursor, most = self._conn.execute(statement), _FIRST_ROWS
            while rows := cursor.fetchmany(most):
                yield as_text(rows, columns)
                size = sum(len(value) for row in rows for value in row if isinstance(value, bytes)) + 8 * len(rows)
                most = max(1, min(_MOST_ROWS, most * 4, self._limits.batch * len(rows) // size))
        if not is_wal and Stamp.of(self._path, LOG_SUFFIX) != before:
            raise Refused(
                "source.changed",
                f"{self._path.name} was overwritten while it was read.",
                "Write the file under another name, and rename it when it is complete.",
                kind="transient",
            )

    def _is_wal(self) -> bool:
        with self._unguarded():
            (mode,) = self._conn.execute("PRAGMA journal_mode").fetchone()
        return bool(mode == b"wal")

    @contextmanager
    def _unguarded(self) -> Iterator[None]:
        """Let own statements do more than read. A query has been prepared with the guard before; none runs here."""
        self._conn.set_authorizer(None)
        try:
            yield
        finally:
            self._conn.set_authorizer(_authorize)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise _failure(error, self._path.name, self._limits) from None


class Sqlite:
    @contextmanager
    def connect(self, path: Path, limits: EngineLimits) -> Iterator[SqliteSession]:
        try:
            conn = sqlite3.connect(
                f"file:{quote(str(path))}?mode=ro", uri=True, timeout=_BUSY_SECONDS, isolation_level=None
            )
        except sqlite3.Error as error:
            raise _failure(error, path.name, limits) from None
        with closing(conn):
            conn.text_factory = bytes
            session = SqliteSession(conn, path, limits)
            with session._translated():
                conn.execute("PRAGMA trusted_schema = OFF")
                conn.execute("PRAGMA cell_size_check = ON")
            conn.set_authorizer(_authorize)
            yield session


ENGINE = Sqlite()


def _authorize(action: int, first: str | None, second: str | None, *_: Any) -> int:
    """Let a statement do nothing but read. SQLite asks for each action of a statement while it prepares it."""
    is_refused = action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _FUNCTIONS_REFUSED
    is_allowed = action in _ALLOWED and not is_refused
    return sqlite3.SQLITE_OK if is_allowed else sqlite3.SQLITE_DENY


def _column(name: str, declared: str) -> FoundColumn:
    if match := _DECIMAL.search(declared):
        digits, scale = int(match[1]), int(match[2] or 0)
        if scale <= digits <= _MOST_DIGITS and digits:
            return FoundColumn(name, f"decimal({digits},{scale})")
    return FoundColumn(name, next((kind for part, kind in _TYPES if part in declared.upper()), "string"))


def _failure(error: sqlite3.Error, name: str, limits: EngineLimits) -> Refused:
    code, text = getattr(error, "sqlite_errorname", ""), str(error)
    if code in ("SQLITE_BUSY_RECOVERY", "SQLITE_READONLY_ROLLBACK", "SQLITE_READONLY_RECOVERY"):
        return Refused(
            "source.malformed",
            f"{name} was not closed by its last writer, and cannot be repaired by a reader.",
            "Open it once with the application that writes it, or send a copy made by its backup.",
        )
    if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return locked(name)
    if code.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
        return not_a_database(name, "SQLite")
    if code == "SQLITE_TOOBIG":  # its own limit, which is higher; a lower one would make printf() return NULL
        return row_too_long(name, limits.row)
    if code == "SQLITE_FULL":
        return disk_is_full(name, limits.disk)
    if code.startswith("SQLITE_AUTH") or "prohibited" in text or "not authorized" in text:
        return Refused(
            "query.not_allowed",
            f"{name}: the query does more than read the tables of the file.",
            "Write one plain SELECT.",
        )
    if text.startswith("no such table"):
        return refused("source.table_unknown", f"{name} has no such table or view:", text, "Correct its name.")
    if code == "SQLITE_ERROR":
        hint = "Correct the query."
        return refused("source.statement_refused", f"SQLite rejects the query on {name}:", text, hint)
    return Refused(
        "source.failed",
        f"SQLite cannot read {name} ({code or type(error).__name__}).",
        "Check that the worker's user may read the file and its folder.",
    )
