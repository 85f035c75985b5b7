"""Databases that are read through an Arrow driver: one file of facts for each, named by dotted path so that only the
one in use is loaded. Nothing here writes."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from executors.arrow_databases.base import Dialect
from ir.kinds import KindTable

DIALECTS: KindTable[str] = KindTable(
    "database with an Arrow driver",
    (
        ("sqlserver", "executors.arrow_databases.sqlserver"),
        ("oracle", "executors.arrow_databases.oracle"),
        ("snowflake", "executors.arrow_databases.snowflake"),
        ("bigquery", "executors.arrow_databases.bigquery"),
    ),
)
"""By the kind of the connection."""


def load_dialect(module: str) -> Dialect:
    """Return the facts of a system from their module."""
    return cast(Dialect, import_module(module).DIALECT)
