"""Reads all valid parts of an invalid document, so that one error does not hide others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import ValidationError

from ir.annotations import ByTag, tag_of
from ir.base import Spec
from ir.budget import spend
from ir.pointers import Pointer


@dataclass(frozen=True, slots=True)
class SoundPart:
    """A valid part and its position. A part that is not `whole` lacks invalid fields, so that it cannot be checked as a
    whole."""

    spec: Spec
    at: Pointer
    whole: bool = True


def error_pointer(loc: tuple[int | str, ...]) -> Pointer:
    """Return the position of a pydantic error, without the steps into unions, which are negative."""
    return Pointer(step for step in loc if not (isinstance(step, int) and step < 0))


def read_some(read: Callable[[Any], Any], raw: Any) -> Any:
    """Read a part without its invalid fields; None if it needs them."""
    try:
        return read(raw)
    except ValidationError as error:
        faulty = {pointer[0] for e in error.errors(include_url=False) if (pointer := error_pointer(e["loc"]))}
    if not isinstance(raw, dict) or not faulty & raw.keys():
        return None
    return read_some(read, {name: value for name, value in raw.items() if name not in faulty})


def sound_parts(kind: type[Spec], raw: Any, at: Pointer) -> Iterator[SoundPart]:
    """Yield all parts of a raw value that should be of this kind, as far as they can be read."""
    spend(20)
    spec = read_some(kind.read, raw)
    if spec is not None:
        parts = list(spec.parts(at))
        yield from (SoundPart(part, pointer, pointer != at or _is_whole(spec, raw)) for part, pointer in parts)
    for field in kind.model_fields.values() if isinstance(raw, dict) else ():
        alias = str(field.alias)
        if alias in raw and (spec is None or alias not in _written(spec)):
            yield from _parts_of_field(field.annotation, field.metadata, raw[alias], at / alias)


def _written(spec: Spec) -> set[str]:
    return {str(type(spec).model_fields[name].alias) for name in spec.model_fields_set}


def _is_whole(spec: Spec, raw: Mapping[str, Any]) -> bool:
    return _written(spec) == raw.keys()


def _parts_of_field(annotation: Any, metadata: list[Any], raw: Any, at: Pointer) -> Iterator[SoundPart]:
    """Yield the parts of a field's value, which is a part, one of several kinds, or a list of them."""
    for kind, key in _alternatives(annotation, metadata):
        if get_origin(kind) is list and isinstance(raw, list):
            for i, item in enumerate(raw):
                yield from _parts_of_field(get_args(kind)[0], [], item, at / i)
        elif _is_kind_of(kind, key, raw):
            yield from sound_parts(kind, raw, at)


def _is_kind_of(kind: Any, key: str | None, raw: Any) -> bool:
    if not (isinstance(kind, type) and issubclass(kind, Spec) and isinstance(raw, dict)):
        return False
    return key is None or tag_of(kind, key) == raw.get(key)


def _alternatives(annotation: Any, metadata: list[Any]) -> Iterator[tuple[Any, str | None]]:
    """Yield the possible types of a value, each with the name of the tag that selects it, if there is one."""
    key = next((annotation_part.key for annotation_part in metadata if isinstance(annotation_part, ByTag)), None)
    if get_origin(annotation) is Annotated:
        inner, *annotations = get_args(annotation)
        yield from _alternatives(inner, [*metadata, *annotations])
    elif get_origin(annotation) in (Union, UnionType):
        for member in get_args(annotation):
            yield from _alternatives(member, metadata if key is not None else [])
    else:
        yield annotation, key
