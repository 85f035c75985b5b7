"""PostgreSQL by its ADBC driver: the system by which tests run what all databases with an Arrow driver share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import pytest

from executors.arrow_databases import DIALECTS, failures
from executors.arrow_databases.adbc import AdbcSession, driver_error
from executors.arrow_databases.base import Dialect, ResultColumn, Session
from executors.arrow_databases.columns import TEXT, MakeColumn, decimal, native, text
from executors.arrow_databases.statements import in_quotes
from executors.database_probe import _PROBES
from executors.model import Connection, StoreConnection
from executors.sources import SOURCES
from ir.connectors import CONNECTORS
from tests.connectors.arrow_postgres.config import CONNECTOR

_TYPE = re.compile(r"(?P<name>[^(]+)(?:\((?P<digits>\d+)(?:,(?P<scale>-?\d+))?\))?(?P<rest>.*)")


class PostgresSession(AdbcSession):
    def describe(self, statement: str) -> Sequence[ResultColumn]:
        """Return the columns as those of a view. The driver does not know the digits of decimals."""
        self.run(f"CREATE TEMPORARY VIEW described AS {statement}")
        columns = (
            "SELECT attname::text AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute "
            "WHERE attrelid = 'described'::regclass AND attnum > 0 ORDER BY attnum"
        )
        found = [row for batch in self.batches(columns) for row in batch.to_pylist()]
        self.run("DROP VIEW described")
        return [_described(row["name"], row["type"]) for row in found]


def _described(name: str, kind: str) -> ResultColumn:
    found = _TYPE.fullmatch(kind)
    assert found is not None, kind
    return ResultColumn(name, found["name"] + found["rest"], int(found["digits"] or 0), int(found["scale"] or 0))


def _connect(driver: Any, connection: StoreConnection, seconds: int) -> Session:
    settings = connection.settings
    user = f"{quote(settings['user'])}:{quote(connection.secrets.get('password', ''))}"
    address = f"{settings['host']}:{settings['port']}/{settings['database']}"
    session = PostgresSession(driver.connect(f"postgresql://{user}@{address}", autocommit=True))
    session.run("SET TIME ZONE 'UTC'")
    return session


_TEXT = "CAST({} AS text)"
_TYPES: dict[str, MakeColumn] = {
    **dict.fromkeys(("smallint", "integer"), native("integer")),
    "bigint": native("bigint"),
    "numeric": decimal(_TEXT),
    **dict.fromkeys(("real", "double precision"), native("float")),
    "boolean": native("boolean"),
    "date": text("date", _TEXT),
    "timestamp without time zone": text("timestamp", _TEXT),
    # With nine digits of a second, as some systems write them.
    "timestamp with time zone": text("timestamptz", "TO_CHAR({}, 'YYYY-MM-DD HH24:MI:SS.US\"000+00\"')"),
    "time without time zone": text("time", _TEXT),
    **dict.fromkeys(("text", "character varying"), TEXT),
    "bytea": native("binary"),
    "uuid": text("uuid", _TEXT),
    "jsonb": text("json", _TEXT),
    # The driver returns it as a float, which was not asked for.
    "oid": native("boolean"),
}

DIALECT = Dialect(
    title="PostgreSQL",
    driver="adbc_driver_postgresql.dbapi",
    extra="dev",
    connect=_connect,
    driver_error=driver_error,
    types=_TYPES,
    quote=in_quotes,
    random_order="ORDER BY random()",
    version="SELECT current_setting('server_version') AS version",
    failures={
        **dict.fromkeys(("28P01", "28000"), failures.AUTH),
        "42501": failures.FORBIDDEN,
        "42P01": failures.TABLE,
        "42703": failures.REFUSED,
        "57014": failures.CANCELLED,
        **dict.fromkeys(("57P01", "08006"), failures.LOST),
    },
)


def register(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add the connector to the table of each layer, as long as the test runs."""
    monkeypatch.setitem(CONNECTORS._kinds, CONNECTOR.name, CONNECTOR)
    monkeypatch.setitem(SOURCES._kinds, CONNECTOR.name, "executors.sources.arrow_database:ArrowDatabase")
    monkeypatch.setitem(DIALECTS._kinds, CONNECTOR.name, __name__)
    monkeypatch.setitem(_PROBES, CONNECTOR.name, "executors.arrow_databases.probing")


def stored(database: Connection, **settings: Any) -> StoreConnection:
    """Return a database of the test server as a connection of the kind `arrow_postgres`."""
    fields = {"host": database.host, "port": database.port, "database": database.database, "user": database.user}
    return StoreConnection("shop", CONNECTOR.name, {**fields, **settings}, {"password": database.password})
