"""What sources need to know of SQLite and DuckDB before a query runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from psycopg import sql

from executors.database_files.base import Column
from executors.reading import Bound
from executors.sources.statement_chunks import Compared, CursorDialect
from ir.kinds import KindTable

_WHOLE = re.compile(r"-?[0-9]{1,18}")
_DAY = r"[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}"


@dataclass(frozen=True, slots=True)
class _Compared:
    """The texts of watermarks of a type, and the condition for the column `{0}` and such a text, `{1}`."""

    values: re.Pattern[str]
    condition: str

    def condition_of(self, column: str, value: str) -> sql.Composable | None:
        if not self.values.fullmatch(value):
            return None
        return sql.SQL(self.condition).format(sql.Identifier("q", column), sql.SQL(value))


@dataclass(frozen=True, slots=True)
class FileDatabase:
    """A kind of database file. While it is open, `is_shared` says whether no one else can change it. `log_suffix` is
    the end of the name of the file beside it that holds its newest changes. `described` is a statement whose columns
    are those of a table, `{}`; of a query, they are its own if `describes_queries` is false."""

    title: str
    is_shared: bool
    log_suffix: str
    described: str
    describes_queries: bool
    compared: Mapping[tuple[str, str], _Compared]
    """By the type of the column and the declared type of the watermark."""
    cursors: CursorDialect

    def columns_of(self, rows: sql.Composable) -> str:
        """Return the statement that has the columns of a table, or of a query in parentheses."""
        text = rows.as_string()
        if text.startswith("(") and not self.describes_queries:
            return text[1:-1]
        return sql.SQL(self.described).format(rows).as_string()

    def past(self, column: Column, bound: Bound) -> sql.Composable | None:
        """Return the condition for the rows at or above a bound and for those that have no place in its order; None if
        the database does not compare the values as the target does."""
        compared = self.compared.get((column.field.type.kind, bound.type.declared))
        return compared.condition_of(column.field.name, bound.value) if compared is not None else None


_SQLITE_WHOLE = _Compared(_WHOLE, "({0} >= {1} OR typeof({0}) <> 'integer')")
_DUCKDB_WHOLE = _Compared(_WHOLE, "({0} >= {1} OR {0} IS NULL)")

_SQLITE = FileDatabase(
    title="SQLite",
    is_shared=False,  # one statement reads one moment, and other connections cannot read the same one
    log_suffix="-wal",
    described="SELECT * FROM {} AS q",
    describes_queries=True,
    compared={("bigint", "integer"): _SQLITE_WHOLE, ("bigint", "bigint"): _SQLITE_WHOLE},
    cursors=CursorDialect(
        partial(sql.Identifier, "q"),
        "CAST({} AS TEXT)",
        {"bigint": Compared("{}", "typeof({}) = 'integer'")},
        # Without a function for hashes: a number below 2^32, so that no sum of a table overflows.
        hashed="(({0} % 2147483647) * ({0} % 2147483647) % 2147483647 + {0} % 2147483647)",
    ),
)
_DUCKDB = FileDatabase(
    title="DuckDB",
    is_shared=True,  # while one process has the file open, no other one can write to it
    log_suffix=".wal",
    described="FROM {}",
    describes_queries=False,  # around a query, DuckDB would rename repeated columns
    compared={
        ("integer", "integer"): _DUCKDB_WHOLE,
        ("bigint", "bigint"): _DUCKDB_WHOLE,
        ("integer", "bigint"): _DUCKDB_WHOLE,
        ("bigint", "integer"): _DUCKDB_WHOLE,
        ("date", "date"): _Compared(re.compile(_DAY), "({0} >= DATE '{1}' OR {0} IS NULL)"),
        ("timestamp", "timestamp without time zone"): _Compared(
            re.compile(_DAY + r" [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"),
            "({0} >= TIMESTAMP '{1}' OR {0} IS NULL)",
        ),
        ("timestamptz", "timestamp with time zone"): _Compared(
            re.compile(_DAY + r" [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?\+00"),
            "({0} >= TIMESTAMPTZ '{1}' OR {0} IS NULL)",
        ),
    },
    cursors=CursorDialect(
        partial(sql.Identifier, "q"),
        "CAST({} AS VARCHAR)",
        {
            **dict.fromkeys(("integer", "bigint", "decimal"), Compared("{}", "1 = 1")),
            "date": Compared("DATE '{}'", "isfinite({})"),
            "timestamp": Compared("TIMESTAMP '{}'", "isfinite({})"),
            "timestamptz": Compared("TIMESTAMPTZ '{}'", "isfinite({})"),
        },
        hashed="hash({})",
    ),
)
FILE_DATABASES: KindTable[FileDatabase] = KindTable("database file", (("sqlite", _SQLITE), ("duckdb", _DUCKDB)))
