"""BigQuery, by ADBC. Not tested against the real service."""

from __future__ import annotations

from typing import Any

from executors.arrow_databases import failures
from executors.arrow_databases.adbc import AdbcSession, driver_error
from executors.arrow_databases.base import Dialect, Session
from executors.arrow_databases.columns import TEXT, MakeColumn, decimal, native, text
from executors.arrow_databases.statements import in_backticks
from executors.model import StoreConnection


def _connect(driver: Any, connection: StoreConnection, seconds: int) -> Session:
    settings = connection.settings
    options = {
        "adbc.bigquery.sql.project_id": settings["project"],
        "adbc.bigquery.sql.dataset_id": settings["dataset"],
        "adbc.bigquery.sql.location": settings["location"],
        "adbc.bigquery.sql.auth_type": "adbc.bigquery.sql.auth_type.json_credential_string",
        "adbc.bigquery.sql.auth_credentials": connection.secrets["serviceAccount"],
    }
    conn = driver.connect(db_kwargs={key: value for key, value in options.items() if value}, autocommit=True)
    return AdbcSession(
        conn,
        {
            "adbc.bigquery.sql.query.default_project_id": settings["project"],
            "adbc.bigquery.sql.query.default_dataset_id": settings["dataset"],
            "adbc.bigquery.sql.query.job_timeout": seconds * 1000,
        },
    )


_TYPES: dict[str, MakeColumn] = {
    "int64": native("bigint"),
    "decimal": decimal("CAST({} AS STRING)"),
    "double": native("float"),
    "bool": native("boolean"),
    "string": TEXT,
    "binary": native("binary"),
    "date32": text("date", "FORMAT_DATE('%E4Y-%m-%d', {})"),
    "time64": text("time", "FORMAT_TIME('%H:%M:%E6S', {})"),
    "timestamp": text("timestamp", "FORMAT_DATETIME('%E4Y-%m-%d %H:%M:%E6S', {})"),
    "timestamp utc": text("timestamptz", "FORMAT_TIMESTAMP('%E4Y-%m-%d %H:%M:%E6S+00', {}, 'UTC')"),
    **dict.fromkeys(("list", "struct"), text("json", "TO_JSON_STRING({})")),
    "month_day_nano_interval": text("string", "CAST({} AS STRING)"),
}
"""By Arrow's name of the type. JSON and geographies are text."""

DIALECT = Dialect(
    title="BigQuery",
    driver="adbc_driver_bigquery.dbapi",
    extra="bigquery",
    connect=_connect,
    driver_error=driver_error,
    types=_TYPES,
    quote=in_backticks,
    random_order="ORDER BY RAND()",
    timestamp="DATETIME '{}'",
    failures={
        "UNAUTHENTICATED": failures.AUTH,
        "UNAUTHORIZED": failures.FORBIDDEN,
        "CANCELLED": failures.CANCELLED,
        "TIMEOUT": failures.CANCELLED,
        "NOT_FOUND": failures.TABLE,
        "INVALID_ARGUMENT": failures.REFUSED,
    },
)
