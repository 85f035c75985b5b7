"""SQL Server. Not tested against a real server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from typing import Any

import pyarrow as pa

from executors.arrow_databases import failures
from executors.arrow_databases.base import Dialect, DriverError, ResultColumn, Session, closed_on_error
from executors.arrow_databases.columns import TEXT, MakeColumn, decimal, native, text
from executors.arrow_databases.statements import in_brackets
from executors.model import StoreConnection

_BATCH_ROWS = 8192
_CONNECT_SECONDS = 10

_OWN_TYPE = "of the .NET runtime"
"""Types such as geometry and hierarchyid, which the server describes without a name."""

_ALLOWS_SNAPSHOT = "SELECT 1 AS x FROM sys.databases WHERE database_id = DB_ID() AND snapshot_isolation_state = 1"
_DESCRIBE = (
    "SELECT name, system_type_name, precision, scale FROM sys.dm_exec_describe_first_result_set(?, NULL, 0) "
    "WHERE is_hidden = 0 ORDER BY column_ordinal"
)


class SqlServerSession(Session):
    """A session that reads snapshots if the database allows them."""

    def __init__(self, conn: Any) -> None:
        self._conn = conn
        self._reader: Any = None
        with closed_on_error(conn):
            if self._rows(_ALLOWS_SNAPSHOT):
                self._rows("SET TRANSACTION ISOLATION LEVEL SNAPSHOT")

    def batches(self, statement: str) -> Iterator[pa.RecordBatch]:
        with closing(self._conn.cursor()) as cursor:
            cursor.execute(statement)
            with cursor.arrow_reader(_BATCH_ROWS) as reader:
                self._reader = reader
                try:
                    yield pa.RecordBatch.from_pylist([], schema=reader.schema)
                    yield from reader
                finally:
                    self._reader = None

    def describe(self, statement: str) -> Sequence[ResultColumn]:
        for _ in self.batches(statement):  # The errors of the statement itself say more than those of its description.
            pass
        return [
            ResultColumn(name or "", (kind or _OWN_TYPE).partition("(")[0], digits, scale)
            for name, kind, digits, scale in self._rows(_DESCRIBE, statement)
        ]

    def cancel(self) -> None:
        """End the rows that are read. A statement that has no rows yet ends at its time limit."""
        if (reader := self._reader) is not None:
            reader.close()

    def close(self) -> None:
        with suppress(Exception):  # It may be broken, and nothing was changed.
            self._conn.close()

    def _rows(self, statement: str, *parameters: str) -> list[tuple[Any, ...]]:
        with closing(self._conn.cursor()) as cursor:
            cursor.execute(statement, *parameters)
            return [tuple(row) for row in cursor.fetchall()] if cursor.description else []


def _connect(driver: Any, connection: StoreConnection, seconds: int) -> Session:
    settings = connection.settings
    driver.pooling(enabled=False)  # A session that is used again could have another isolation level.
    parts = {
        "Server": f"tcp:{settings['host']},{settings['port']}",
        "Database": settings["database"],
        "UID": settings["user"],
        "PWD": connection.secrets.get("password", ""),
        "Encrypt": "yes",
        "TrustServerCertificate": "yes" if settings["encryption"] == "trust" else "no",
        "ApplicationIntent": "ReadOnly",
    }
    text = "".join(f"{key}={{{value.replace('}', '}}')}}};" for key, value in parts.items())
    conn = driver.connect(text, autocommit=True, timeout=_CONNECT_SECONDS)
    conn.timeout = seconds
    return SqlServerSession(conn)


def _driver_error(error: BaseException) -> DriverError | None:
    """Return the error of the driver, which has no number but the title of its SQLSTATE."""
    if not hasattr(error, "driver_error"):
        return None
    return DriverError(str(error.driver_error), str(getattr(error, "ddbc_error", "")).rpartition("]")[2])


_MOMENT = "CONVERT(varchar(30), {}, 121)"
_TYPES: dict[str, MakeColumn] = {
    "bit": native("boolean"),
    **dict.fromkeys(("tinyint", "smallint", "int"), native("integer")),
    "bigint": native("bigint"),
    **dict.fromkeys(("decimal", "numeric"), decimal("CAST({} AS varchar(50))")),
    **dict.fromkeys(("money", "smallmoney"), decimal("CAST(CAST({} AS decimal(19, 4)) AS varchar(50))")),
    **dict.fromkeys(("float", "real"), native("float")),
    "date": text("date", "CONVERT(varchar(10), {}, 23)"),
    # A datetime is stored in steps of 1/300 s, and shown in milliseconds: it is not compared as it is shown.
    "datetime": text("timestamp", _MOMENT, is_compared=False),
    **dict.fromkeys(("datetime2", "smalldatetime"), text("timestamp", _MOMENT)),
    "datetimeoffset": text(
        "timestamptz", "CONVERT(varchar(30), CAST(SWITCHOFFSET({}, '+00:00') AS datetime2(7)), 121) + '+00'"
    ),
    "time": text("time", "CAST({} AS varchar(16))"),
    **dict.fromkeys(("char", "varchar", "nchar", "nvarchar", "sysname"), TEXT),
    **dict.fromkeys(("text", "ntext", "xml"), text("string", "CAST({} AS nvarchar(max))")),
    "json": text("json", "CAST({} AS nvarchar(max))"),
    "uniqueidentifier": text("uuid", "CAST({} AS char(36))"),
    **dict.fromkeys(("binary", "varbinary", "image", "timestamp", "rowversion"), native("binary")),
}

DIALECT = Dialect(
    title="SQL Server",
    driver="mssql_python",
    extra="sqlserver",
    connect=_connect,
    driver_error=_driver_error,
    types=_TYPES,
    quote=in_brackets,
    limited="(SELECT TOP ({n}) * FROM {rows} q {order})",
    random_order="ORDER BY NEWID()",
    date="CAST('{}' AS date)",
    timestamp="CAST('{}' AS datetime2(7))",
    version="SELECT CAST(SERVERPROPERTY('ProductVersion') AS varchar(50)) AS version",
    warning="SELECT 1 AS x FROM sys.databases WHERE database_id = DB_ID() AND snapshot_isolation_state <> 1 "
    "AND is_read_committed_snapshot_on = 0",
    failures={
        "Invalid authorization specification": failures.AUTH,
        "Base table or view not found": failures.TABLE,
        "Invalid schema name": failures.TABLE,
        "Invalid catalog name": failures.DATABASE,
        "Column not found": failures.REFUSED,
        "Column already exists": failures.REFUSED,
        "Syntax error or access violation": failures.REFUSED,
        "Serialization failure": failures.LOCKED,
        "Communication link failure": failures.LOST,
        "Connection not open": failures.LOST,
        "Operation canceled": failures.CANCELLED,
        "Timeout expired": failures.CANCELLED,
    },
)
