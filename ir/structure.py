"""The second phase of parsing: validates a plain document against the types. Valid parts of an invalid document go to
the third phase."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import TypeAdapter, ValidationError

from ir import faults
from ir.backfill import Backfill
from ir.base import Spec
from ir.budget import spend
from ir.diagnostics import Diagnostic, diagnose, shown
from ir.limits import MAX_FAULTS
from ir.nodes import NODES, Node
from ir.pipeline import Pipeline
from ir.pointers import ROOT, Pointer
from ir.salvage import SoundPart, error_pointer, read_some, sound_parts
from ir.schedules import Schedule
from ir.spelling import guess
from ir.types import OTHER_NAMES, SIMPLE_TYPES

_NODE: TypeAdapter[Node] = TypeAdapter(Node)
_SCHEDULE: TypeAdapter[Schedule] = TypeAdapter(Schedule)


@dataclass(frozen=True, slots=True)
class DraftNode:
    """A node as far as it can be read. `spec` may lack invalid fields, or is None if those are required. `parts` are
    all valid parts, also those below an invalid field."""

    at: Pointer
    id: str | None
    kind: str | None
    inputs: tuple[str | None, ...]
    spec: Node | None
    parts: tuple[SoundPart, ...] = ()


@dataclass(frozen=True, slots=True)
class Draft:
    """A document as far as it can be read. `pipeline` is None if any part is invalid."""

    pipeline: Pipeline | None
    schedule: Schedule | None
    nodes: tuple[DraftNode, ...]
    backfill: Backfill | None = None


def read_structure(document: Any) -> tuple[Draft, list[Diagnostic]]:
    """Return the typed document and its structural errors."""
    try:
        pipeline = Pipeline.read(document)
    except ValidationError as error:
        return _salvage(document), list(structural_diagnostics(error, Pipeline))
    nodes = (_draft_node(raw, node, ROOT / "nodes" / i) for i, (raw, node) in enumerate(_zip(document, pipeline)))
    return Draft(pipeline, pipeline.schedule, tuple(nodes), pipeline.backfill), []


def _zip(document: dict[str, Any], pipeline: Pipeline) -> Iterator[tuple[Any, Node]]:
    return zip(document["nodes"], pipeline.nodes, strict=True)


def _read_schedule(raw: Any) -> Schedule:
    return _SCHEDULE.validate_python(raw, by_alias=True, by_name=False)


def _read_node(raw: Any) -> Node:
    return _NODE.validate_python(raw, by_alias=True, by_name=False)


# --- valid parts -------------------------------------------------------------------------------------------------


def _salvage(document: Any) -> Draft:
    if not isinstance(document, dict):
        return Draft(None, None, ())
    nodes = document.get("nodes")
    return Draft(
        None,
        read_some(_read_schedule, document.get("schedule")),
        tuple(
            _draft_node(raw, read_some(_read_node, raw), ROOT / "nodes" / i)
            for i, raw in enumerate(nodes if isinstance(nodes, list) else ())
        ),
        read_some(Backfill.read, document.get("backfill")),
    )


def _draft_node(raw: Any, spec: Node | None, at: Pointer) -> DraftNode:
    if not isinstance(raw, dict):
        return DraftNode(at, None, None, (), None)
    inputs = raw.get("inputs")
    return DraftNode(
        at,
        _text(raw.get("id")),
        _text(raw.get("kind")),
        tuple(_text(name) for name in inputs) if isinstance(inputs, list) else (),
        spec,
        tuple(_parts_of(raw, at)),
    )


def _parts_of(raw: dict[str, Any], at: Pointer) -> Iterator[SoundPart]:
    kind = raw.get("kind")
    return sound_parts(NODES[kind], raw, at) if isinstance(kind, str) and kind in NODES else iter(())


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


# --- from pydantic's errors to diagnostics ------------------------------------------------------------------------


def structural_diagnostics(error: ValidationError, model: type[Spec]) -> Iterator[Diagnostic]:
    """Yield the diagnostics of a document that is not valid as `model`."""
    errors = error.errors(include_url=False)
    for single in errors[:MAX_FAULTS]:
        yield from _diagnostics_of({**single, "model": model})
    if len(errors) > MAX_FAULTS:
        message = f"{len(errors) - MAX_FAULTS} more faults are not shown."
        yield diagnose("document.too_many_faults", ROOT, message)


def _diagnostics_of(error: Any) -> Iterator[Diagnostic]:
    spend(100)
    pointer = error_pointer(error["loc"])
    if error["type"] == "string_too_long" and pointer[-1] == "[key]":  # pydantic's mark of a key of an open object
        pointer = pointer.parent
    describer = _DESCRIBERS.get(error["type"])
    if describer is None:
        yield diagnose("value.malformed", pointer, f"{shown(error['input'])}: {error['msg']}.")
    else:
        yield describer(error, pointer)


def _missing(error: Any, at: Pointer) -> Diagnostic:
    return faults.missing(at.parent, str(at[-1]))


def _unknown(error: Any, at: Pointer) -> Diagnostic:
    model = _type_at(error["model"], error["loc"][:-1])
    known = [str(field.alias) for field in model.model_fields.values()]
    return faults.unknown_field(at.parent, str(at[-1]), known)


def _wrong_tag(error: Any, at: Pointer) -> Diagnostic:
    value, key = error["input"], error["ctx"]["key"]
    if not isinstance(value, dict):
        return faults.wrong_type(at, value, "object")
    if key not in value:
        return faults.missing(at, key)
    return faults.not_allowed(at / key, value[key], error["ctx"]["allowed"].split())


def _wrong_type(expected: str) -> Callable[[Any, Pointer], Diagnostic]:
    return lambda error, at: faults.wrong_type(at, error["input"], expected)


def _not_allowed(error: Any, at: Pointer) -> Diagnostic:
    return faults.not_allowed(at, error["input"], get_args(_type_at(error["model"], error["loc"])))


_TYPES_HINT = f"Use {', '.join(SIMPLE_TYPES)}, decimal(p,s), or pg:<type> for other PostgreSQL types."


def _malformed(error: Any, at: Pointer) -> Diagnostic:
    value = error["input"]
    if "decimal" not in error["ctx"]["pattern"]:
        use = "Use a lower-case letter, then up to 62 lower-case letters, digits, _ and -."
        return diagnose("value.malformed", at, f"{shown(value)} is not an id. {use}")
    near = OTHER_NAMES.get(value.lower()) or guess(value, SIMPLE_TYPES)
    return diagnose(
        "value.malformed",
        at,
        f"Unknown column type {shown(value)}." + (f" Did you mean {near}?" if near else ""),
        hint=_TYPES_HINT,
        fixes=[[{"op": "replace", "path": str(at), "value": near}]] if near else [],
    )


def _wrong_length(error: Any, at: Pointer) -> Diagnostic:
    return faults.wrong_length(at, error["input"], error["ctx"].get("min_length"), error["ctx"].get("max_length"))


_SIGNS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}


def _out_of_range(error: Any, at: Pointer) -> Diagnostic:
    ((sign, bound),) = error["ctx"].items()
    return diagnose("value.out_of_range", at, f"{shown(error['input'])} must be {_SIGNS[sign]} {bound}.")


_DESCRIBERS: dict[str, Callable[[Any, Pointer], Diagnostic]] = {
    "missing": _missing,
    "extra_forbidden": _unknown,
    "tag": _wrong_tag,
    "literal_error": _not_allowed,
    "scalar_type": lambda error, at: faults.wrong_type(at, error["input"], error["ctx"]["expected"]),
    "string_type": _wrong_type("string"),
    "int_type": _wrong_type("integer"),
    "bool_type": _wrong_type("boolean"),
    "list_type": _wrong_type("array"),
    "dict_type": _wrong_type("object"),
    "model_type": _wrong_type("object"),
    "string_pattern_mismatch": _malformed,
    "string_too_short": _wrong_length,
    "string_too_long": _wrong_length,
    "too_short": _wrong_length,
    "too_long": _wrong_length,
    "greater_than": _out_of_range,
    "greater_than_equal": _out_of_range,
    "less_than": _out_of_range,
    "less_than_equal": _out_of_range,
}


def _type_at(model: type[Spec], loc: tuple[int | str, ...]) -> Any:
    """Return the type at the position of an error in a document of this model."""
    kind: Any = model
    for step in loc:
        kind = _step_into(_bare(kind), step)
    return _bare(kind)


def _step_into(kind: Any, step: int | str) -> Any:
    if isinstance(step, int):
        return get_args(kind)[-step - 1 if step < 0 else 0]
    if isinstance(kind, type) and issubclass(kind, Spec):
        return next(field.annotation for field in kind.model_fields.values() if field.alias == step)
    return get_args(kind)[1]


def _bare(kind: Any) -> Any:
    """Return a type without its annotations and without None."""
    if get_origin(kind) is Annotated:
        return _bare(get_args(kind)[0])
    if get_origin(kind) is Literal or NoneType not in get_args(kind):
        return kind
    return _bare(next(member for member in get_args(kind) if member is not NoneType))
