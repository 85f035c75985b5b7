"""Converts the errors of a connector's JSON Schema to diagnostics in the wording of Flow's own types."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from jsonschema import ValidationError
from jsonschema.protocols import Validator

from ir import faults
from ir.diagnostics import Diagnostic, diagnose, shown
from ir.pointers import Pointer


def check_config(validator: Validator, config: Any, at: Pointer) -> Iterator[Diagnostic]:
    """Yield all errors that a schema finds in a connector's settings, which are at `at`."""
    for error in validator.iter_errors(config):
        yield from _diagnostics_of(error, at)


def _diagnostics_of(error: ValidationError, at: Pointer) -> Iterator[Diagnostic]:
    pointer = Pointer((*at, *error.relative_path))
    describer = _DESCRIBERS.get(str(error.validator))
    if describer is None:
        yield diagnose("value.malformed", pointer, f"{shown(error.instance)} violates {error.validator}.")
    else:
        yield from describer(error, pointer)


def _missing(error: ValidationError, at: Pointer) -> Iterator[Diagnostic]:
    # jsonschema reports each missing name separately, and the name only in quotes in the message.
    for name in error.validator_value:
        if name not in error.instance and error.message.startswith(repr(name)):
            yield faults.missing(at, name)


def _unknown(error: ValidationError, at: Pointer) -> Iterator[Diagnostic]:
    known = list(error.schema.get("properties", {}))
    for name in error.instance:
        if name not in known:
            yield faults.unknown_field(at, name, known)


def _wrong_type(error: ValidationError, at: Pointer) -> Iterator[Diagnostic]:
    expected = error.validator_value
    yield faults.wrong_type(at, error.instance, expected if isinstance(expected, str) else " or ".join(expected))


def _not_allowed(error: ValidationError, at: Pointer) -> Iterator[Diagnostic]:
    allowed = [error.validator_value] if error.validator == "const" else error.validator_value
    yield faults.not_allowed(at, error.instance, allowed)


def _wrong_length(error: ValidationError, at: Pointer) -> Iterator[Diagnostic]:
    least = error.validator_value if str(error.validator).startswith("min") else None
    yield faults.wrong_length(at, error.instance, least, error.validator_value)


_SIGNS = {"minimum": "at least", "maximum": "at most", "exclusiveMinimum": "above", "exclusiveMaximum": "below"}


def _out_of_range(error: ValidationError, at: Pointer) -> Iterator[Diagnostic]:
    bound = f"{_SIGNS[str(error.validator)]} {error.validator_value}"
    yield diagnose("value.out_of_range", at, f"{shown(error.instance)} must be {bound}.")


def _no_branch(error: ValidationError, at: Pointer) -> Iterator[Diagnostic]:
    """Yield the errors of the branch that the value's tag selects, instead of the error that no branch matches."""
    branches: dict[Any, list[ValidationError]] = defaultdict(list)
    for sub in error.context or ():
        branches[sub.relative_schema_path[0]].append(sub)
    tagged = [found for found in branches.values() if not any(_is_tag(sub) for sub in found)]
    if len(tagged) == 1:
        for sub in tagged[0]:
            yield from _diagnostics_of(sub, at)
    else:
        yield from _wrong_tag([sub for found in branches.values() for sub in found], error, at)


def _is_tag(error: ValidationError) -> bool:
    """Return whether the error is a wrong tag or an entirely different type, so that the branch is not the selected
    one."""
    return (error.validator == "const" and len(error.relative_path) == 1) or (
        error.validator == "type" and not error.relative_path
    )


def _wrong_tag(errors: Sequence[ValidationError], error: ValidationError, at: Pointer) -> Iterator[Diagnostic]:
    tags = [sub for sub in errors if sub.validator == "const" and len(sub.relative_path) == 1]
    if tags:
        yield from _not_allowed_tag(tags, at)
    elif (tag := _missing_tag(errors, error.instance)) is not None:
        yield faults.missing(at, tag)
    elif isinstance(error.instance, dict):
        yield diagnose("value.malformed", at, "The object matches none of the allowed forms.")
    else:
        expected = {sub.validator_value for sub in errors if sub.validator == "type" and not sub.relative_path}
        yield faults.wrong_type(at, error.instance, " or ".join(sorted(map(str, expected))) or "value of another form")


def _missing_tag(errors: Iterable[ValidationError], value: Any) -> str | None:
    """Return the first field that every branch requires and the value lacks."""
    required = [sub.validator_value for sub in errors if sub.validator == "required" and not sub.relative_path]
    common = [name for name in required[0] if all(name in names for names in required)] if required else []
    return next((name for name in common if name not in value), None)


def _not_allowed_tag(tags: Iterable[ValidationError], at: Pointer) -> Iterator[Diagnostic]:
    first, *_ = tags = list(tags)
    yield faults.not_allowed(at / first.relative_path[0], first.instance, [tag.validator_value for tag in tags])


_Describer = Callable[[ValidationError, Pointer], Iterator[Diagnostic]]
_DESCRIBERS: dict[str, _Describer] = {
    "required": _missing,
    "additionalProperties": _unknown,
    "type": _wrong_type,
    "enum": _not_allowed,
    "const": _not_allowed,
    "oneOf": _no_branch,
    "anyOf": _no_branch,
    "minimum": _out_of_range,
    "maximum": _out_of_range,
    "exclusiveMinimum": _out_of_range,
    "exclusiveMaximum": _out_of_range,
    "minLength": _wrong_length,
    "maxLength": _wrong_length,
    "minItems": _wrong_length,
    "maxItems": _wrong_length,
    "minProperties": _wrong_length,
    "maxProperties": _wrong_length,
}
