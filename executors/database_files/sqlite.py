"""SQLite files. Every value keeps its own type there, so all arrive as text and Flow's grammar decides about each."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import pyarrow as pa
from psycopg import sql

from executors.database_files.base import (
    Column,
    FileSession,
    Rows,
    Stamp,
    deadline,
    locked,
    not_a_database,
    refused,
    require_unique,
)
from executors.errors import Failure, Terminal, Transient
from executors.formats.batches import BadRecords
from executors.formats.files import BLOCK_BYTES
from executors.formats.limits import MOST_ROW_BYTES
from executors.model import SourceField
from executors.reading import Bound
from ir.types import ColumnType

_BUSY_SECONDS = 10.0
_STEPS = 10_000
"""The number of instructions of SQLite between two looks at the clock."""
_FIRST_ROWS, _MOST_ROWS = 4, 16_384
_LONGEST_SHOWN = 10_000

_ALLOWED = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE})
_FUNCTIONS_REFUSED = frozenset({"load_extension", "fts3_tokenizer"})

_WHOLE = re.compile(r"-?[0-9]{1,18}")
_DECIMAL = re.compile(r"(?:decimal|numeric)\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)", re.IGNORECASE)
_MOST_DIGITS = 38
_RENAMED = re.compile(r"(.+):[0-9]+")
"""The name that SQLite gives to a repeated column of a subquery: `id:1`."""
_KINDS = (
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


class _Text(bytes):
    """A value of type TEXT, which may be invalid UTF-8. A BLOB is plain `bytes`."""


_TYPES = {int: "an integer", float: "a floating point number", bytes: "binary data", _Text: "a text"}


class SqliteSession(FileSession):
    def __init__(self, conn: sqlite3.Connection, path: Path, seconds: float) -> None:
        self._conn, self._path, self._seconds = conn, path, seconds

    def columns(self, rows: sql.Composable) -> tuple[Column, ...]:
        """A view has the declared types of the columns that a query only passes on."""
        statement = sql.SQL("SELECT * FROM {} AS q").format(rows).as_string()
        with self._translated():
            names = [name for name, *_ in self._conn.execute(f"{statement} LIMIT 0").description]
            require_unique(self._path.name, [_RENAMED.sub(r"\1", name) for name in names])
            with self._unguarded():
                self._conn.execute(f"CREATE TEMP VIEW flow_types AS {statement}")
                found = self._conn.execute("PRAGMA temp.table_xinfo(flow_types)").fetchall()
                self._conn.execute("DROP VIEW temp.flow_types")
        declared = [kind.decode(errors="replace") for _, _, kind, *_ in found]
        return tuple(_column(name, kind) for name, kind in zip(names, declared, strict=True))

    def rows(self, statement: str, columns: Sequence[Column]) -> Iterator[Rows]:
        before = Stamp.of(self._path, ENGINE.log_suffix)
        with self._translated():
            # Only in this mode may other processes write to the file while it is read.
            is_wal = self._is_wal()
            cursor, most = self._conn.execute(statement), _FIRST_ROWS
            while rows := cursor.fetchmany(most):
                yield _as_text(rows, columns)
                size = sum(len(value) for row in rows for value in row if isinstance(value, bytes)) + 8 * len(rows)
                most = max(1, min(_MOST_ROWS, most * 4, BLOCK_BYTES * len(rows) // size))
        if not is_wal and Stamp.of(self._path, ENGINE.log_suffix) != before:
            raise Transient(
                "source.changed",
                f"{self._path.name} was overwritten while it was read.",
                hint="Write the file under another name, and rename it when it is complete.",
            )

    def interrupt(self) -> None:
        self._conn.interrupt()

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
            raise _failure(error, self._path.name, self._seconds) from None


class Sqlite:
    """One statement reads one moment. Other connections cannot read the same moment, so it is not shared."""

    is_shared = False
    log_suffix: ClassVar[str] = "-wal"

    @contextmanager
    def connect(self, path: Path, seconds: float) -> Iterator[SqliteSession]:
        ends = time.monotonic() + seconds
        try:
            conn = sqlite3.connect(
                f"file:{quote(str(path))}?mode=ro",
                uri=True,
                timeout=_BUSY_SECONDS,
                isolation_level=None,
                check_same_thread=False,  # `interrupt` is called by another thread
            )
        except sqlite3.Error as error:
            raise _failure(error, path.name, seconds) from None
        with closing(conn):
            conn.text_factory = _Text
            conn.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_ROW_BYTES)
            conn.set_progress_handler(lambda: time.monotonic() > ends, _STEPS)
            session = SqliteSession(conn, path, seconds)
            with session._translated():
                conn.execute("PRAGMA trusted_schema = OFF")
                conn.execute("PRAGMA cell_size_check = ON")
            conn.set_authorizer(_authorize)
            yield session

    def past(self, column: Column, bound: Bound) -> sql.Composable | None:
        if column.field.type.kind != "bigint" or bound.type.declared not in ("integer", "bigint"):
            return None
        if not _WHOLE.fullmatch(bound.value):
            return None
        name = sql.Identifier("q", column.field.name)
        return sql.SQL("({0} >= {1} OR typeof({0}) <> 'integer')").format(name, sql.SQL(bound.value))


ENGINE = Sqlite()


def _authorize(action: int, first: str | None, second: str | None, *_: Any) -> int:
    """Let a statement do nothing but read. SQLite asks for each action of a statement while it prepares it."""
    is_refused = action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _FUNCTIONS_REFUSED
    is_allowed = action in _ALLOWED and not is_refused
    return sqlite3.SQLITE_OK if is_allowed else sqlite3.SQLITE_DENY


def _column(name: str, declared: str) -> Column:
    if match := _DECIMAL.search(declared):
        digits, scale = int(match[1]), int(match[2] or 0)
        if scale <= digits <= _MOST_DIGITS and digits:
            return Column(SourceField(name, ColumnType("decimal", digits, scale), as_text=True))
    kind = next((kind for part, kind in _KINDS if part in declared.upper()), "string")
    return Column(SourceField(name, ColumnType(kind), as_text=kind not in ("string", "json")))


def _as_text(rows: list[tuple[Any, ...]], columns: Sequence[Column]) -> Rows:
    bad = BadRecords()
    try:
        return Rows(len(rows), _arrays(rows, columns), bad)
    except (TypeError, pa.ArrowInvalid):
        for index, row in enumerate(rows):
            if reason := _why_unreadable(row, columns):
                bad.add(index, reason, _shown(row))
                rows[index] = (None,) * len(columns)
        return Rows(len(rows), _arrays(rows, columns), bad)


def _arrays(rows: Sequence[tuple[Any, ...]], columns: Sequence[Column]) -> list[pa.Array]:
    return [_array(values, column) for values, column in zip(zip(*rows, strict=True), columns, strict=True)]


def _array(values: Sequence[Any], column: Column) -> pa.Array:
    """Return values as text. Raises TypeError for a value that has no text of this type, and ArrowInvalid for texts
    that are not valid UTF-8."""
    kinds = set(map(type, values)) - {type(None)}
    if kinds <= {_Text} and column.field.type.kind != "binary":
        return pa.array(values, pa.binary()).cast(pa.string())
    if kinds <= {int} and column.field.type.kind != "binary":
        return pa.array(values, pa.int64()).cast(pa.string())
    return pa.array([_text(value, column.field.type) for value in values], pa.string())


def _text(value: Any, kind: ColumnType) -> str | None:
    if value is None:
        return None
    if kind.kind == "binary" and isinstance(value, bytes):
        return "\\x" + value.hex().upper()
    if kind.kind == "binary" or type(value) is bytes:
        raise TypeError(type(value))
    if isinstance(value, _Text):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise TypeError(_Text) from None
    return repr(value).replace("inf", "Infinity") if isinstance(value, float) else str(value)


def _why_unreadable(row: Sequence[Any], columns: Sequence[Column]) -> str:
    for value, column in zip(row, columns, strict=True):
        try:
            _array([value], column)
        except pa.ArrowInvalid:
            return f"Column {column.field.name!r} holds a text that is not valid UTF-8."
        except TypeError:
            return f"Column {column.field.name!r} of type {column.field.type} holds {_TYPES[type(value)]}."
    return ""


def _shown(row: Sequence[Any]) -> str:
    cells = (value if isinstance(value, bytes) else str("" if value is None else value).encode() for value in row)
    return b",".join(cells)[:_LONGEST_SHOWN].decode(errors="backslashreplace")


def _failure(error: sqlite3.Error, name: str, seconds: float) -> Failure:
    code, text = getattr(error, "sqlite_errorname", ""), str(error)
    if code.startswith("SQLITE_INTERRUPT"):
        return deadline(seconds)
    if code in ("SQLITE_BUSY_RECOVERY", "SQLITE_READONLY_ROLLBACK", "SQLITE_READONLY_RECOVERY"):
        return Terminal(
            "source.malformed",
            f"{name} was not closed by its last writer, and cannot be repaired by a reader.",
            hint="Open it once with the application that writes it, or send a copy made by its backup.",
        )
    if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return locked(name)
    if code.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
        return not_a_database(name, "SQLite")
    if code == "SQLITE_TOOBIG":
        return Terminal(
            "source.expands_too_much",
            f"A row of {name} is longer than {MOST_ROW_BYTES >> 20} MB.",
            hint="Leave the long column out by a query, or read parts of it with substr().",
        )
    if code.startswith("SQLITE_AUTH") or "prohibited" in text or "not authorized" in text:
        return Terminal(
            "query.not_allowed",
            f"{name}: the query does more than read the tables of the file.",
            hint="Write one plain SELECT.",
        )
    if text.startswith("no such table"):
        return refused("source.table_unknown", f"{name} has no such table or view:", text, "Correct its name.")
    if code == "SQLITE_ERROR":
        hint = "Correct the query."
        return refused("source.statement_refused", f"SQLite rejects the query on {name}:", text, hint)
    return Terminal(
        "source.failed",
        f"SQLite cannot read {name} ({code or type(error).__name__}).",
        hint="Check that the worker's user may read the file and its folder.",
    )
