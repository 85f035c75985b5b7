"""The functions and system tables that queries may use: functions of PostgreSQL that only compute or describe, and
those that an admin has allowed for a connection.

`tools/postgres_allowed.py` generates the lists. Anything that they lack is refused, including functions of later
versions of PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

CATALOG = "pg_catalog"
FLOW_SCHEMAS = ("flow_meta", "flow_staging", "flow_backups")
"""Schemas with rows and watermarks of all pipelines."""

Name = tuple[str, str]
"""Schema and name."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """What an admin allows queries over a connection. `functions` are allowed in addition to those of PostgreSQL
    itself; `role` says why queries cannot run as the connection's role, or is "" if they can or this is unknown."""

    functions: frozenset[Name] = frozenset()
    role: str = ""


Allowances = Mapping[str, Allowance]
"""By the name of the connection. A missing key means that the allowances are unknown."""


@cache
def listed_functions() -> frozenset[str]:
    """Return the functions of `pg_catalog` that a query may call."""
    return _read("postgres_functions.txt")


@cache
def listed_relations() -> frozenset[str]:
    """Return the tables and views of `pg_catalog` that a query may read."""
    return _read("postgres_relations.txt")


def _read(name: str) -> frozenset[str]:
    lines = Path(__file__).with_name(name).read_text().splitlines()
    return frozenset(line for line in lines if not line.startswith("#"))


def why_not_read(schema: str, table: str) -> str | None:
    """Return why pipelines cannot read a table or view; None if they can."""
    if schema in FLOW_SCHEMAS:
        return f"The schema {schema} belongs to Flow."
    if schema == CATALOG and table not in listed_relations():
        return f"The system table {table} exposes sessions, settings, files or values of other tables."
    if schema.startswith("pg_") and schema != CATALOG:
        return f"The schema {schema} belongs to PostgreSQL."
    return None
