"""Oracle, by the thin driver. Not tested against a real server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from typing import Any

import pyarrow as pa

from executors.arrow_databases import failures
from executors.arrow_databases.base import Column, Dialect, DriverError, ResultColumn, Session, closed_on_error
from executors.arrow_databases.columns import TEXT, MakeColumn, decimal, native, text
from executors.arrow_databases.statements import in_quotes
from executors.model import SourceField, StoreConnection
from ir.types import ColumnType

_BATCH_ROWS = 2048
_CONNECT_SECONDS = 10
_MOST_MILLISECONDS = 2_000_000_000

_DIGITS = "TO_CHAR({}, 'TM9', 'NLS_NUMERIC_CHARACTERS=''.,''')"
"""Every digit of a number, whatever the language of the session."""


class OracleSession(Session):
    """A session in a transaction that only reads."""

    def __init__(self, conn: Any) -> None:
        self._conn = conn
        with closed_on_error(conn):
            for statement in ("ALTER SESSION SET TIME_ZONE = '+00:00'", "SET TRANSACTION READ ONLY"):
                with closing(conn.cursor()) as cursor:
                    cursor.execute(statement)

    def batches(self, statement: str) -> Iterator[pa.RecordBatch]:
        for frame in self._conn.fetch_df_batches(statement, size=_BATCH_ROWS):
            yield from pa.table(frame).to_batches()

    def describe(self, statement: str) -> Sequence[ResultColumn]:
        with closing(self._conn.cursor()) as cursor:
            cursor.execute(statement)
            return [
                ResultColumn(
                    found.name,
                    found.type_code.name.lower().removeprefix("db_type_"),
                    found.precision or 0,
                    found.scale or 0,
                )
                for found in cursor.description
            ]

    def cancel(self) -> None:
        self._conn.cancel()

    def close(self) -> None:
        with suppress(Exception):  # It may be broken, and nothing was changed.
            self._conn.close()


def _connect(driver: Any, connection: StoreConnection, seconds: int) -> Session:
    settings = connection.settings
    conn = driver.connect(
        user=settings["user"],
        password=connection.secrets.get("password", ""),
        host=settings["host"],
        port=settings["port"],
        service_name=settings["service"],
        protocol=settings["protocol"],
        ssl_server_dn_match=True,
        tcp_connect_timeout=_CONNECT_SECONDS,
    )
    conn.call_timeout = min(seconds * 1000, _MOST_MILLISECONDS)
    return OracleSession(conn)


def _driver_error(error: BaseException) -> DriverError | None:
    found: Any = error.args[0] if error.args else None
    if not hasattr(found, "full_code"):
        return None
    return DriverError(str(found.full_code), str(found.message).partition("\n")[0])


def _number(found: ResultColumn) -> Column:
    """A number without declared digits may have any: it is read as text."""
    if not found.digits or found.scale < -84:
        return text("string", _DIGITS)(found)
    if found.scale == 0 and found.digits <= 18:
        kind = ColumnType("integer" if found.digits <= 9 else "bigint")
        return Column(SourceField(found.name, kind, as_text=True), _DIGITS)
    return decimal(_DIGITS)(found)


def _moment(kind: str, value: str, suffix: str = "") -> MakeColumn:
    """A time with nine digits of a second. Years before Christ get a sign, which Flow's grammar refuses."""
    return text(kind, f"LTRIM(TO_CHAR({value}, 'SYYYY-MM-DD HH24:MI:SS.FF9{suffix}'))")


_TYPES: dict[str, MakeColumn] = {
    "number": _number,
    **dict.fromkeys(("binary_float", "binary_double"), native("float")),
    "binary_integer": native("integer"),
    "boolean": native("boolean"),
    "date": text("timestamp", "LTRIM(TO_CHAR({}, 'SYYYY-MM-DD HH24:MI:SS'))"),
    "timestamp": _moment("timestamp", "{}"),
    **dict.fromkeys(("timestamp_tz", "timestamp_ltz"), _moment("timestamptz", "SYS_EXTRACT_UTC({})", '"+00"')),
    **dict.fromkeys(("interval_ds", "interval_ym"), text("string", "TO_CHAR({})")),
    **dict.fromkeys(("varchar", "nvarchar", "char", "nchar", "clob", "nclob", "long", "long_nvarchar"), TEXT),
    **dict.fromkeys(("rowid", "urowid"), text("string", "ROWIDTOCHAR({})")),
    "json": text("json", "JSON_SERIALIZE({} RETURNING CLOB)"),
    **dict.fromkeys(("raw", "blob", "long_raw"), native("binary")),
}

DIALECT = Dialect(
    title="Oracle",
    driver="oracledb",
    extra="oracle",
    connect=_connect,
    driver_error=_driver_error,
    types=_TYPES,
    quote=in_quotes,
    limited="(SELECT * FROM {rows} q {order} FETCH FIRST {n} ROWS ONLY)",
    random_order="ORDER BY DBMS_RANDOM.VALUE",
    version="SELECT version AS version FROM product_component_version WHERE ROWNUM = 1",
    is_encrypted=lambda connection: connection.settings["protocol"] == "tcps",
    moment="SELECT TO_CHAR(dbms_flashback.get_system_change_number) AS moment FROM dual",
    at_moment="{rows} AS OF SCN {moment}",
    failures={
        **dict.fromkeys(("ORA-01017", "ORA-28000", "ORA-28001"), failures.AUTH),
        **dict.fromkeys(("ORA-01031", "ORA-01720", "ORA-01045"), failures.FORBIDDEN),
        **dict.fromkeys(("ORA-00018", "ORA-00020", "ORA-02391", "ORA-12516", "ORA-12519"), failures.BUSY),
        **dict.fromkeys(("ORA-00028", "ORA-03113", "ORA-03114", "ORA-03135", "DPY-4011", "DPY-1001"), failures.LOST),
        **dict.fromkeys(("ORA-01013", "DPY-4024"), failures.CANCELLED),
        **dict.fromkeys(("ORA-00942", "ORA-04043"), failures.TABLE),
        **dict.fromkeys(("ORA-12514", "DPY-6001"), failures.DATABASE),
        **dict.fromkeys(("ORA-00054", "ORA-04021"), failures.LOCKED),
        **dict.fromkeys(("ORA-00904", "ORA-00918", "ORA-00923", "ORA-00933", "ORA-00936"), failures.REFUSED),
        **dict.fromkeys(("ORA-01456", "ORA-14551", "ORA-14552"), failures.READ_ONLY),
        **dict.fromkeys(("ORA-01555", "ORA-08180", "ORA-01466"), failures.MOMENT),
    },
)
