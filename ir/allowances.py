"""The functions and system tables that queries may use: PostgreSQL's own that only compute or describe, and those that
an admin has allowed for a connection.

The lists are data that `tools/postgres_allowed.py` made; what they do not hold is refused, so that
a function of a later PostgreSQL is too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

CATALOG = "pg_catalog"
FLOW_SCHEMAS = ("flow_meta", "flow_staging", "flow_backups")
"""Where rows and watermarks of all pipelines stand."""

Name = tuple[str, str]
"""Schema and name."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """What an admin allows the queries over one connection. `functions` are those that PostgreSQL does not bring;
    `role` says why queries do not run as the connection's role, "" where they may or nobody has looked."""

    functions: frozenset[Name] = frozenset()
    role: str = ""


Allowances = Mapping[str, Allowance]
"""By the name of the connection. A missing key says that nobody looked."""


@cache
def listed_functions() -> frozenset[str]:
    """The functions of `pg_catalog` that a query may call."""
    return _read("postgres_functions.txt")


@cache
def listed_relations() -> frozenset[str]:
    """The tables and views of `pg_catalog` that a query may read."""
    return _read("postgres_relations.txt")


def _read(name: str) -> frozenset[str]:
    lines = Path(__file__).with_name(name).read_text().splitlines()
    return frozenset(line for line in lines if not line.startswith("#"))


def why_not_read(schema: str, table: str) -> str | None:
    """Why no pipeline reads a table or view; None if it may."""
    if schema in FLOW_SCHEMAS:
        return f"The schema {schema} belongs to Flow."
    if schema == CATALOG and table not in listed_relations():
        return f"The system table {table} exposes sessions, settings, files or values of other tables."
    if schema.startswith("pg_") and schema != CATALOG:
        return f"The schema {schema} belongs to PostgreSQL."
    return None
