"""JSON Schemas for values of rows: which schemas are allowed, and how values are checked.

Schemas and values come from users, so the work for both is limited: nothing is fetched (references stay within the
schema), patterns use RE2, numbers are exact, and a value that needs too many steps fails. Keywords that may evaluate a
part of a value repeatedly are not supported.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from decimal import Decimal, localcontext
from functools import lru_cache
from typing import Any

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.exceptions import SchemaError, best_match
from jsonschema.validators import extend
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from ir.budget import spend
from ir.diagnostics import Diagnostic, diagnose, shown
from ir.json_schema import DIALECT
from ir.pointers import Pointer
from ir.regexes import check_regex, compile_regex

MAX_BYTES = 100_000
MAX_STEPS = 20_000
MAX_CHARACTERS = 1_000_000
LEFT_OUT = ("$dynamicRef", "$dynamicAnchor", "$recursiveRef", "unevaluatedItems", "unevaluatedProperties")


def check_instance_schema(schema: dict[str, Any], at: Pointer) -> Iterator[Diagnostic]:
    """Yield all errors of a schema, so that no run fails because of it."""
    size = len(json.dumps(schema).encode())
    if size > MAX_BYTES:
        yield diagnose("json_schema.not_allowed", at, f"The schema takes more than {MAX_BYTES:,} bytes.")
        return
    spend(3 * size)
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        fault = best_match(error.context) or error
        pointer = Pointer((*at, *error.absolute_path))
        yield diagnose("json_schema.malformed", pointer, f"Invalid JSON Schema: {fault.message[:200]}.")
        return
    faults = [fault for part in _parts(schema) for fault in _part_faults(part, part is schema, at)]
    yield from faults or _check_references(schema, at)


def _part_faults(part: dict[str, Any], is_root: bool, at: Pointer) -> Iterator[Diagnostic]:
    for keyword in [*(name for name in LEFT_OUT if name in part), *(["$id"] if "$id" in part and not is_root else [])]:
        yield diagnose("json_schema.not_allowed", at, f"The keyword {keyword} is not supported.")
    if part.get("$schema", DIALECT).rstrip("#") != DIALECT:
        message = f"The dialect {shown(part['$schema'])} is not supported."
        yield diagnose("json_schema.not_allowed", at / "$schema", message, hint=f"Write it in {DIALECT}.")
    if not str(part.get("$ref", "#")).startswith("#"):
        message = f"The reference {shown(part['$ref'])} leads outside the schema. Flow does not fetch schemas."
        yield diagnose("json_schema.not_allowed", at, message)
    for pattern in [*([part["pattern"]] if "pattern" in part else []), *part.get("patternProperties", ())]:
        yield from check_regex(pattern, at)


def _check_references(schema: dict[str, Any], at: Pointer) -> Iterator[Diagnostic]:
    resolver = Registry().resolver_with_root(DRAFT202012.create_resource(schema))
    parts = list(_parts(schema))
    for part in parts:
        spend(50 + len(parts))  # an anchor may be in any of them
        try:
            if "$ref" in part:
                resolver.lookup(part["$ref"])
        except Unresolvable:
            message = f"The reference {shown(part['$ref'])} does not exist in the schema."
            yield diagnose("json_schema.not_allowed", at, message)
            return
    if _runs_in_circles(schema):
        yield diagnose(
            "json_schema.not_allowed", at, "The schema refers to itself without consuming a part of the value."
        )


def _runs_in_circles(schema: dict[str, Any]) -> bool:
    validator = _validator(json.dumps(schema))
    try:
        with _steps():
            for value in _SAMPLES:
                validator.is_valid(value)
    except (RecursionError, _TooExpensive):
        return True
    return False


_SAMPLES: tuple[Any, ...] = (None, True, 0, "", {}, [])


def _parts(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield the schema and all schemas in it, except those in `enum` or `const`."""
    if isinstance(schema, dict):
        yield schema
        for part in DRAFT202012.subresources_of(schema):
            yield from _parts(part)


# --- values -------------------------------------------------------------------------------------------------------


def instance_check(schema: dict[str, Any]) -> Callable[[str], bool]:
    """Return a function that checks whether a text is JSON that matches the schema. It never raises because of the
    text."""
    validator = _validator(json.dumps(schema))

    def follows(text: str) -> bool:
        if len(text) > MAX_CHARACTERS:
            return False
        try:
            with _steps(), localcontext(prec=2_000):
                return bool(validator.is_valid(_read(text)))
        except (ValueError, ArithmeticError, RecursionError, _TooExpensive):
            return False

    return follows


def _read(text: str) -> Any:
    return json.loads(text, parse_float=Decimal, parse_constant=_refuse)


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


@lru_cache(maxsize=32)
def _validator(schema: str) -> Any:
    # A separate registry fetches nothing.
    return _Validator(_read(schema), registry=Registry())


class _TooExpensive(Exception):
    """The value needs more steps than allowed."""


_left: ContextVar[list[int]] = ContextVar("steps left")


class _steps:  # noqa: N801
    """Count the steps of the block."""

    def __enter__(self) -> None:
        self._token = _left.set([MAX_STEPS])

    def __exit__(self, *error: object) -> None:
        _left.reset(self._token)


_Keyword = Callable[[Any, Any, Any, Any], Any]


def _counted(keyword: _Keyword) -> _Keyword:
    def run(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        left = _left.get()
        left[0] -= 1
        spend(10)
        if left[0] < 0:
            raise _TooExpensive
        return keyword(validator, value, instance, schema)

    return run


# --- replaced keywords, which would use Python's regexes or compare all pairs of items ---------------------------


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not compile_regex(pattern).search(instance):
        yield ValidationError("does not match")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    for name, value in instance.items() if isinstance(instance, dict) else ():
        for pattern, part in patterns.items():
            if compile_regex(pattern).search(name):
                yield from validator.descend(value, part, path=name, schema_path=pattern)


def _additional_properties(validator: Any, others: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    patterns = [compile_regex(pattern) for pattern in schema.get("patternProperties", ())]
    for name, value in instance.items() if isinstance(instance, dict) else ():
        if name not in schema.get("properties", {}) and not any(pattern.search(name) for pattern in patterns):
            yield from validator.descend(value, others, path=name)


def _unique_items(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if wanted and isinstance(instance, list) and len(set(map(_key, instance))) < len(instance):
        yield ValidationError("has repeated items")


def _key(value: Any) -> Any:
    """Return a key that is equal for values that JSON Schema considers equal: 1 and 1.0 are, 1 and true are not."""
    if isinstance(value, dict):
        return ("object", frozenset((name, _key(part)) for name, part in value.items()))
    if isinstance(value, list):
        return ("array", *map(_key, value))
    return (type(value) is bool, value)


def _is_integer(checker: Any, value: Any) -> bool:
    if isinstance(value, Decimal):
        return value == value.to_integral_value()
    return isinstance(value, int) and not isinstance(value, bool)


_OWN: dict[str, _Keyword] = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "uniqueItems": _unique_items,
}
_Validator = extend(
    Draft202012Validator,
    {name: _counted(keyword) for name, keyword in {**Draft202012Validator.VALIDATORS, **_OWN}.items()},
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer),
)
