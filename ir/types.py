"""Column types: their names in documents and their meaning."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from pydantic import StringConstraints

from ir.annotations import NoNewline
from ir.diagnostics import Diagnostic, diagnose
from ir.pointers import Pointer

SIMPLE_TYPES = (
    "string",
    "integer",
    "bigint",
    "float",
    "boolean",
    "date",
    "timestamp",
    "timestamptz",
    "time",
    "json",
    "uuid",
    "binary",
)

TYPE_PATTERN = (
    r"^(" + "|".join(SIMPLE_TYPES) + r"|decimal\([1-9][0-9]{0,3},(0|[1-9][0-9]{0,3})\)|pg:[^\x00-\x1f\x7f]{1,200})$"
)

TypeName = Annotated[str, StringConstraints(pattern=TYPE_PATTERN), NoNewline()]
"""The name of a column type in documents: `integer`, `decimal(12,2)`, `pg:inet` …"""

OTHER_NAMES = {
    "int": "integer",
    "int4": "integer",
    "int8": "bigint",
    "long": "bigint",
    "double": "float",
    "real": "float",
    "numeric": "decimal(18,2)",
    "decimal": "decimal(18,2)",
    "text": "string",
    "varchar": "string",
    "bool": "boolean",
    "datetime": "timestamp",
    "jsonb": "json",
    "bytea": "binary",
    "bytes": "binary",
}
"""Names of these types in other systems, used only in hints: documents have one name for each type."""

_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A parsed column type. `kind` is a simple name, `decimal` or `pg`."""

    kind: str
    precision: int = 0
    scale: int = 0
    pg_name: str = ""

    @classmethod
    def parse(cls, name: str) -> ColumnType:
        """Parse a type name that the schema has accepted; raises ValueError otherwise."""
        if not re.match(TYPE_PATTERN[:-1] + r"\Z", name):
            raise ValueError(f"{name!r} is not a column type")
        if name.startswith("pg:"):
            return cls("pg", pg_name=name[3:])
        if match := _DECIMAL.fullmatch(name):
            return cls("decimal", int(match[1]), int(match[2]))
        return cls(name)

    def __str__(self) -> str:
        if self.kind == "decimal":
            return f"decimal({self.precision},{self.scale})"
        return f"pg:{self.pg_name}" if self.kind == "pg" else self.kind


STRING = ColumnType("string")

_VALUES = {
    "string": "a text",
    "integer": "a whole number",
    "bigint": "a whole number",
    "float": "a number",
    "boolean": "true or false",
    "date": "a date",
    "timestamp": "a timestamp",
    "timestamptz": "a timestamp with time zone",
    "time": "a time",
    "json": "valid JSON",
    "uuid": "a UUID",
    "array": "a JSON array",
}


def value_of(name: str) -> str:
    """Return the description of a value of a type for messages, such as `a whole number`."""
    return _VALUES.get(name, f"of type {name}")


def check_type(name: str, at: Pointer) -> Iterator[Diagnostic]:
    """Check that PostgreSQL has a type of this name. `pg:` names are checked when a database is known."""
    kind = ColumnType.parse(name)
    if kind.kind == "decimal" and not (kind.precision <= 1000 and kind.scale <= kind.precision):
        yield diagnose("type.malformed", at, f"PostgreSQL has no numeric type {name}.")
