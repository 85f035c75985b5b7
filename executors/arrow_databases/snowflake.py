"""Snowflake, by ADBC. Not tested against a real server."""

from __future__ import annotations

from typing import Any

from executors.arrow_databases import failures
from executors.arrow_databases.adbc import AdbcSession, driver_error
from executors.arrow_databases.base import Dialect, Session, closed_on_error
from executors.arrow_databases.columns import TEXT, MakeColumn, decimal, native, text
from executors.arrow_databases.statements import in_quotes
from executors.model import StoreConnection

_MOST_SECONDS = 604_800
"""The most that Snowflake lets a statement run: seven days."""
_FORMAT = "'YYYY-MM-DD HH24:MI:SS.FF9'"


def _connect(driver: Any, connection: StoreConnection, seconds: int) -> Session:
    settings, secrets = connection.settings, connection.secrets
    options = {
        "adbc.snowflake.sql.account": settings["account"],
        "adbc.snowflake.sql.warehouse": settings["warehouse"],
        "adbc.snowflake.sql.db": settings["database"],
        "adbc.snowflake.sql.schema": settings["schema"],
        "adbc.snowflake.sql.role": settings["role"],
        "adbc.snowflake.sql.client_option.login_timeout": "30s",
        "adbc.snowflake.sql.client_option.app_name": "flow",
        "adbc.snowflake.sql.client_option.disable_telemetry": "true",
        "username": settings["user"],
    }
    if "privateKey" in secrets:
        options["adbc.snowflake.sql.auth_type"] = "auth_jwt"
        options["adbc.snowflake.sql.client_option.jwt_private_key_pkcs8_value"] = secrets["privateKey"]
    else:
        options["password"] = secrets.get("password", "")
    conn = driver.connect(db_kwargs={key: value for key, value in options.items() if value}, autocommit=True)
    session = AdbcSession(conn, {"adbc.snowflake.statement.query_tag": "flow"})
    with closed_on_error(conn):
        # A query whose client is gone must not run on, and cost on.
        for setting in (
            f"STATEMENT_TIMEOUT_IN_SECONDS = {min(seconds, _MOST_SECONDS)}",
            "ABORT_DETACHED_QUERY = TRUE",
            "TIMEZONE = 'UTC'",
            "QUOTED_IDENTIFIERS_IGNORE_CASE = FALSE",
        ):
            session.run(f"ALTER SESSION SET {setting}")
    return session


_TYPES: dict[str, MakeColumn] = {
    **dict.fromkeys(("int8", "int16", "int32", "int64"), native("bigint")),
    "decimal": decimal("TO_VARCHAR({})"),
    "double": native("float"),
    "bool": native("boolean"),
    "string": TEXT,
    "binary": native("binary"),
    "date32": text("date", "TO_VARCHAR({}, 'YYYY-MM-DD')"),
    **dict.fromkeys(("time32", "time64"), text("time", "TO_VARCHAR({}, 'HH24:MI:SS.FF9')")),
    "timestamp": text("timestamp", f"TO_VARCHAR({{}}, {_FORMAT})"),
    "timestamp utc": text("timestamptz", f"TO_VARCHAR(CONVERT_TIMEZONE('UTC', {{}}), {_FORMAT}) || '+00'"),
}
"""By Arrow's name of the type. Variants, objects and arrays are text."""

DIALECT = Dialect(
    title="Snowflake",
    driver="adbc_driver_snowflake.dbapi",
    extra="snowflake",
    connect=_connect,
    driver_error=driver_error,
    types=_TYPES,
    quote=in_quotes,
    random_order="ORDER BY RANDOM()",
    timestamp="'{}'::TIMESTAMP_NTZ(9)",  # TIMESTAMP is whichever kind the account has chosen.
    version="SELECT CURRENT_VERSION() AS version",
    failures={
        **dict.fromkeys(("UNAUTHENTICATED", "28000"), failures.AUTH),
        "UNAUTHORIZED": failures.FORBIDDEN,
        "CANCELLED": failures.CANCELLED,
        "TIMEOUT": failures.CANCELLED,
        "57014": failures.CANCELLED,
        "42501": failures.FORBIDDEN,
        "02000": failures.TABLE,
        "42S02": failures.TABLE,
        "42000": failures.REFUSED,
        "42601": failures.REFUSED,
        "42702": failures.REFUSED,
    },
)
