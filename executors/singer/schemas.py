"""The columns of a stream: types of JSON Schema become types of columns. Numbers stay exact."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import reduce
from typing import Any

from executors.formats.unions import common_type
from executors.model import SourceField
from ir.types import STRING, ColumnType

JSON, BOOLEAN, BIGINT = ColumnType("json"), ColumnType("boolean"), ColumnType("bigint")
NUMERIC = ColumnType("pg", pg_name="numeric")
"""A number without bounds. A float would change digits."""
_MOST_DIGITS = 38
_BIGINT_LEAST, _BIGINT_MOST = -(2**63), 2**63 - 1
_BY_FORMAT = {"date-time": "timestamptz", "date": "date", "time": "time", "uuid": "uuid"}
_BEYOND_FRAME = frozenset(("string", "json", "pg"))
_EXACT = frozenset(("integer", "bigint", "decimal"))


def fields_of(schema: Mapping[str, Any]) -> tuple[SourceField, ...]:
    """Return the columns of a stream with this schema."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return ()
    return tuple(field_of(name, type_of(described)) for name, described in properties.items())


def field_of(name: str, kind: ColumnType) -> SourceField:
    """Return a column. All values arrive as text, those that Spark has a type for are parsed when they are needed."""
    return SourceField(name, kind, as_text=kind.kind not in _BEYOND_FRAME)


def type_of(schema: Any) -> ColumnType:
    """Return the type of the column for all values that a schema accepts: text if there is no other."""
    return reduce(either, _types(schema)) if schema and _types(schema) else STRING


def either(one: ColumnType, other: ColumnType) -> ColumnType:
    """Return a type that holds the values of both exactly."""
    if one == other:
        return one
    kinds = {one, other}
    if NUMERIC in kinds and (kinds - {NUMERIC}).pop().kind in _EXACT:
        return NUMERIC
    return common_type(one, other) or STRING


def _types(schema: Any) -> list[ColumnType]:
    """Return the types of the values that a schema accepts; NULL has none."""
    if not isinstance(schema, Mapping):
        return [STRING]
    for choice in ("anyOf", "oneOf"):
        if isinstance(schema.get(choice), list):
            return [kind for part in schema[choice] for kind in _types(part)]
    names = schema.get("type")
    if names is None:
        return [JSON] if "properties" in schema or "items" in schema else [STRING]
    return [_simple(name, schema) for name in _listed(names) if name != "null"]


def _listed(names: Any) -> Sequence[Any]:
    return names if isinstance(names, list) else [names]


def _simple(name: Any, schema: Mapping[str, Any]) -> ColumnType:
    if name == "integer":
        return _integer(schema)
    if name == "number":
        return _number(schema)
    if name == "string":
        return _string(schema)
    return {"boolean": BOOLEAN, "object": JSON, "array": JSON}.get(str(name), STRING)


def _string(schema: Mapping[str, Any]) -> ColumnType:
    format = str(schema.get("format"))
    if format == "singer.decimal":
        return _declared_decimal(schema.get("precision"), schema.get("scale"))
    return ColumnType(_BY_FORMAT[format]) if format in _BY_FORMAT else STRING


def _declared_decimal(precision: Any, scale: Any) -> ColumnType:
    if isinstance(precision, int) and isinstance(scale, int) and 0 <= scale <= precision <= _MOST_DIGITS and precision:
        return ColumnType("decimal", precision, scale)
    return NUMERIC


def _integer(schema: Mapping[str, Any]) -> ColumnType:
    bounds = [_decimal(schema.get(name)) for name in ("minimum", "maximum")]
    if any(bound is not None and not _BIGINT_LEAST <= bound <= _BIGINT_MOST for bound in bounds):
        return NUMERIC
    return BIGINT


def _number(schema: Mapping[str, Any]) -> ColumnType:
    """Return the decimal type that `multipleOf` and the bounds describe, as taps for databases write them."""
    step = _decimal(schema.get("multipleOf"))
    if step is None or step <= 0 or not step.is_finite():
        return NUMERIC
    exponent = step.normalize().as_tuple().exponent
    scale = max(0, -int(exponent))
    bounds = [_decimal(schema.get(name)) for name in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")]
    known = [abs(bound) for bound in bounds if bound is not None and bound.is_finite()]
    if len(known) < 2:
        return NUMERIC
    digits = max(max(bound.adjusted() + 1 for bound in known), 0)
    if digits + scale > _MOST_DIGITS or not digits + scale:
        return NUMERIC
    return ColumnType("decimal", digits + scale, scale)


def _decimal(value: Any) -> Decimal | None:
    """Return a bound as a number. Old schemas have true and false for exclusive bounds, which are none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return Decimal(repr(value) if isinstance(value, float) else value)
    except InvalidOperation:
        return None


def merge_fields(known: Iterable[SourceField], new: Iterable[SourceField]) -> tuple[SourceField, ...]:
    """Return the columns of a stream whose schema was sent again. No column is lost; one whose type has changed gets a
    type for the values of both."""
    found = {field.name: field for field in known}
    for field in new:
        old = found.get(field.name)
        found[field.name] = field if old is None else field_of(field.name, either(old.type, field.type))
    return tuple(found.values())
