"""Names of tables and columns: what PostgreSQL supports, and how `schema.table` is written as one text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ir.allowances import FLOW_SCHEMAS, why_not_read
from ir.diagnostics import Diagnostic, diagnose, shown
from ir.pointers import Pointer

MAX_BYTES = 63
"""PostgreSQL truncates longer names without an error. Counted in bytes of UTF-8."""

RESERVED_SCHEMAS = (*FLOW_SCHEMAS, "pg_catalog", "information_schema", "pg_toast")
RESERVED_PREFIX = "_flow_"
SYSTEM_COLUMNS = frozenset({"tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"})
"""System columns of every PostgreSQL table. No other column can have these names."""

_PART = r'(?:"((?:[^"]|"")+)"|([^".\s]+))'
_TABLE_NAME = re.compile(rf"{_PART}\.{_PART}")


def parse_table_name(text: str) -> tuple[str, str]:
    """Parse `schema.table`; raises ValueError.

    A part in double quotes may contain dots and spaces, and `""` for a quote: `"my.schema"."Orders 2025"`. Case is
    significant with and without quotes, because Flow quotes every name that it sends.
    """
    match = _TABLE_NAME.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not of the form schema.table")
    schema, bare_schema, table, bare_table = match.groups()
    return _part(schema, bare_schema), _part(table, bare_table)


def _part(quoted: str | None, bare: str | None) -> str:
    return bare or "" if quoted is None else quoted.replace('""', '"')


def check_identifier(name: str, at: Pointer, what: str) -> Iterator[Diagnostic]:
    """Check that PostgreSQL supports the name. `what` is `column`, `table` or `schema`."""
    if name == "":
        yield diagnose("identifier.empty", at, f"The {what} has an empty name.")
    size = len(name.encode())
    if size > MAX_BYTES:
        yield diagnose(
            "identifier.too_long",
            at,
            f"The {what} name {shown(name)} has {size} bytes in UTF-8. PostgreSQL allows {MAX_BYTES}.",
        )


def check_column(name: str, at: Pointer) -> Iterator[Diagnostic]:
    """Check that a column of this name may be loaded."""
    yield from check_identifier(name, at, "column")
    if name.startswith(RESERVED_PREFIX):
        yield diagnose(
            "identifier.reserved", at, f"Column names that begin with {RESERVED_PREFIX} are reserved for Flow."
        )


def check_schema(name: str, at: Pointer) -> Iterator[Diagnostic]:
    yield from check_identifier(name, at, "schema")
    if name in RESERVED_SCHEMAS:
        yield diagnose("identifier.reserved", at, f"Pipelines cannot write to the schema {name}.")


def check_readable(schema: str, table: str, at: Pointer) -> Iterator[Diagnostic]:
    """Check that pipelines may read the table of that schema."""
    yield from check_identifier(schema, at, "schema")
    if why := why_not_read(schema, table):
        yield diagnose("identifier.not_readable", at, why)


def check_table_name(text: str, at: Pointer, *, writes: bool) -> Iterator[Diagnostic]:
    """Check that `schema.table` is the name of a table that Flow may read, or may load if the pipeline `writes` to
    it."""
    try:
        schema, table = parse_table_name(text)
    except ValueError:
        yield diagnose("table_name.malformed", at, f"{shown(text)} is not a table name of the form schema.table.")
        return
    yield from check_schema(schema, at) if writes else check_readable(schema, table, at)
    yield from check_identifier(table, at, "table")


def check_repeated(names: Iterable[str], at: Pointer) -> Iterator[Diagnostic]:
    """Check that a list of columns has no duplicates; the second occurrence is reported."""
    seen: set[str] = set()
    for i, name in enumerate(names):
        if name in seen:
            yield diagnose("column.repeated", at / i, f"The column {shown(name)} is repeated.")
        seen.add(name)
