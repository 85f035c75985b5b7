"""Extracts values from texts: the part that a pattern matches, and the value at a path in JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc

from executors.grammar.broken_text import without_broken
from executors.grammar.canonical import canonical_text
from executors.grammar.stages import none_bad
from ir.json_paths import Step
from ir.regexes import compile_regex


@dataclass(frozen=True, slots=True)
class Found:
    """Texts, or NULL if there is none. `missing` marks values where nothing was found, `unreadable` values that cannot
    be parsed, `nested` objects or arrays where a plain value was expected. At most one of them is true."""

    values: pa.Array
    missing: pa.BooleanArray
    unreadable: pa.BooleanArray
    nested: pa.BooleanArray


def find_match(values: pa.Array, pattern: str, group: int) -> Found:
    """Return a group of the first match of an RE2 pattern in the canonical text of each value."""
    text, broken = without_broken(canonical_text(values))
    compiled = compile_regex(pattern)

    def matched(value: str) -> str | None:
        match = compiled.search(value)
        return None if match is None else match[group]

    found = _by_distinct(text, matched)
    unreadable = none_bad(len(text)) if broken is None else broken
    missing = pc.and_not(pc.is_null(found), unreadable)
    return Found(found, missing, unreadable, none_bad(len(text)))


def _by_distinct(text: pa.Array, answer: Callable[[str], str | None]) -> pa.Array:
    coded = text.dictionary_encode()
    answers = pa.array([answer(value) for value in coded.dictionary.to_pylist()], pa.string())
    return answers.take(coded.indices)


# --- JSON ---------------------------------------------------------------------------------------------------------

NOT_JSON, ABSENT = object(), object()
"""NOT_JSON represents a text that cannot be parsed, ABSENT a missing value, as distinct from a JSON null."""
UNREADABLE = "{"
"""A text that is not JSON."""


class Number(str):
    """A JSON number as written."""

    __slots__ = ()


def read_documents(values: pa.Array, *, empty_as_null: bool) -> list[Any]:
    """Return the JSON of each text with exact numbers, and ABSENT for NULL."""
    text, broken = without_broken(values)
    found = [ABSENT if v is None or (empty_as_null and not v) else _document(v) for v in text.to_pylist()]
    if broken is not None:
        found = [NOT_JSON if bad else value for bad, value in zip(broken.to_pylist(), found, strict=True)]
    return found


def _document(text: str) -> Any:
    try:
        value = _DECODER.decode(text)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()  # fails for an escape of half a surrogate pair
    except (ValueError, RecursionError):
        return NOT_JSON
    return value


def _refuse(word: str) -> NoReturn:
    raise ValueError(word)


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object. A repeated key is refused, because its value would be ambiguous."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a key is repeated")
    return members


_DECODER = json.JSONDecoder(object_pairs_hook=_members, parse_int=Number, parse_float=Number, parse_constant=_refuse)


def find_values(documents: Sequence[Any], path: Sequence[Step], *, as_json: bool) -> Found:
    """Return the value of each document at a path: plain texts (objects and arrays are `nested`), or JSON texts."""
    found = [document if document is NOT_JSON else value_at(document, path) for document in documents]
    nested = [not as_json and isinstance(value, dict | list) for value in found]
    write = json_text if as_json else plain_text
    texts: list[str | None] = []
    for index, value in enumerate(found):
        try:
            texts.append(None if value is NOT_JSON or value is ABSENT or nested[index] else write(value))
        except RecursionError:
            texts.append(None)
            found[index] = NOT_JSON
    return Found(
        pa.array(texts, pa.string()),
        pa.array([value is ABSENT for value in found], pa.bool_()),
        pa.array([value is NOT_JSON for value in found], pa.bool_()),
        pa.array(nested, pa.bool_()),
    )


Shape = Mapping[str, "Shape | None"]
"""The known members of an object, each with its own members; None for a member that is not examined further."""


def shape_of(paths: Iterable[Sequence[Step]]) -> dict[str, Any]:
    """Return the members on these paths of names."""
    shape: dict[str, Any] = {}
    for path in paths:
        members: dict[str, Any] | None = shape
        for step in path[:-1]:
            members = members.setdefault(str(step), {}) if members is not None else None
        if members is not None:
            members[str(path[-1])] = None
    return shape


@dataclass(frozen=True, slots=True)
class Checked:
    """Which documents are not objects of a shape, and which of the others have members that the shape lacks."""

    unreadable: pa.BooleanArray
    unknown: pa.BooleanArray


def check_objects(documents: Sequence[Any], shape: Shape) -> Checked:
    """Check which documents are objects of a shape. A missing member and a JSON null fit any shape."""
    unreadable = [not _has_shape(document, shape) for document in documents]
    unknown = [not bad and _has_unknown(value, shape) for bad, value in zip(unreadable, documents, strict=True)]
    return Checked(pa.array(unreadable, pa.bool_()), pa.array(unknown, pa.bool_()))


def _has_shape(value: Any, shape: Shape | None) -> bool:
    if shape is None or value is ABSENT or value is None:
        return True
    return isinstance(value, dict) and all(_has_shape(value.get(key), below) for key, below in shape.items())


def _has_unknown(value: Any, shape: Shape | None) -> bool:
    if shape is None or not isinstance(value, dict):
        return False
    return any(key not in shape or _has_unknown(member, shape[key]) for key, member in value.items())


def value_at(value: Any, path: Sequence[Step]) -> Any:
    """Return the value at a path, or ABSENT."""
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step, ABSENT)
        elif isinstance(value, list) and isinstance(step, int) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return ABSENT
    return value


def plain_text(value: Any) -> str | None:
    return _WORDS[value] if value is True or value is False else value


def json_text(value: Any) -> str | None:
    """Return the value as JSON with numbers as written; None for null."""
    return None if value is None else _json(value)


def _json(value: Any) -> str:
    match value:
        case None | True | False:
            return _JSON_WORDS[value]
        case Number():
            return str(value)
        case str():
            return json.dumps(value, ensure_ascii=False)
        case list():
            return "[" + ", ".join(map(_json, value)) + "]"
    return "{" + ", ".join(f"{json.dumps(key, ensure_ascii=False)}: {_json(of)}" for key, of in value.items()) + "}"


_WORDS = {True: "true", False: "false"}
_JSON_WORDS: dict[bool | None, str] = {True: "true", False: "false", None: "null"}
