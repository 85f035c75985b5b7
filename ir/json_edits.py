"""Applies JSON Patch (RFC 6902) to JSON text. Text outside the patched positions does not change. Independent of
pipelines."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from ir.errors import FlowError
from ir.json_diff import have_equal_values
from ir.json_text import JsonReader, JsonSyntaxError
from ir.limits import MAX_BYTES
from ir.pointers import ROOT, Pointer

WIDTH = 110
UNIT = "  "
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")
_LAST_LINE = re.compile(r"[^\n]*\Z")
_INDENT = re.compile(r"[ \t]*")

Patch = list[dict[str, Any]]


class PatchRefused(FlowError):
    """The patch is invalid or does not fit the document."""

    def __init__(self, message: str) -> None:
        super().__init__("patch.refused", message, hint="Reload the document and repeat the change.")


class UnreadableText(FlowError):
    """The text is not valid JSON, so it has no positions to edit."""

    def __init__(self, message: str) -> None:
        super().__init__("document.syntax", message, hint="Correct the text on the JSON tab, or undo.")


class Spans(NamedTuple):
    """The value of a text with the start and end of each part. For members of objects, `keys` has the start of the
    key."""

    text: str
    value: Any
    parts: dict[Pointer, tuple[int, int]]
    keys: dict[Pointer, int]


class _SpanReader(JsonReader):
    """A JSON reader that also records where values end."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.parts: dict[Pointer, tuple[int, int]] = {}

    def _value(self, pointer: Pointer) -> Any:
        start = self.at
        value = super()._value(pointer)
        self.parts[pointer] = (start, self.at)
        return value


def read_spans(text: str) -> Spans:
    """Read the positions of all parts. Raises UnreadableText, also for repeated keys, whose position is ambiguous."""
    reader = _SpanReader(text)
    try:
        value = reader.read()
    except JsonSyntaxError as error:
        raise UnreadableText(str(error)) from error
    repeated = next((fault for fault in reader.faults if fault.code == "document.repeated_key"), None)
    if repeated is not None:
        raise UnreadableText(repeated.message)
    return Spans(text, value, reader.parts, reader.offsets)


def apply_patch(text: str, patch: Any) -> str:
    """Return the text after all operations. Raises PatchRefused (no operation is applied then) or UnreadableText."""
    if not isinstance(patch, list):
        raise PatchRefused("A JSON Patch must be a list of operations.")
    for step in patch:
        text = _apply_step(read_spans(text), step)
        if len(text) > MAX_BYTES:
            raise PatchRefused(f"The document would be larger than {MAX_BYTES} bytes.")
    return text


def _apply_step(spans: Spans, step: Any) -> str:
    name = step.get("op") if isinstance(step, dict) else None
    if not isinstance(name, str) or name not in OPERATIONS:
        raise PatchRefused(f"{name!r} is not a JSON Patch operation. Operations: {', '.join(OPERATIONS)}.")
    return OPERATIONS[name](spans, step)


def _add(spans: Spans, step: dict[str, Any]) -> str:
    return _insert(spans, _member(spans, step, "path"), _Value(value=_field(step, "value")))


def _remove(spans: Spans, step: dict[str, Any]) -> str:
    return _cut(spans, _existing(spans, step, "path"))


def _replace(spans: Spans, step: dict[str, Any]) -> str:
    return _put(spans, _existing(spans, step, "path"), _Value(value=_field(step, "value")))


def _move(spans: Spans, step: dict[str, Any]) -> str:
    source = _existing(spans, step, "from")
    names, to = tuple(map(str, source)), _read_pointer(_field(step, "path"))
    if to == names:
        return spans.text
    if to[: len(names)] == names:
        raise PatchRefused(f"{source} cannot be moved into itself.")
    start, end = spans.parts[source]
    raw = _Value(raw=spans.text[start:end])
    rest = read_spans(_cut(spans, source))
    return _insert(rest, _member(rest, step, "path"), raw)


def _copy(spans: Spans, step: dict[str, Any]) -> str:
    start, end = spans.parts[_existing(spans, step, "from")]
    return _insert(spans, _member(spans, step, "path"), _Value(raw=spans.text[start:end]))


def _test(spans: Spans, step: dict[str, Any]) -> str:
    pointer, wanted = _existing(spans, step, "path"), _field(step, "value")
    if not have_equal_values(value_at(spans.value, pointer), wanted):
        raise PatchRefused(f"{pointer or 'The document'} changed in the meantime.")
    return spans.text


OPERATIONS: dict[str, Callable[[Spans, dict[str, Any]], str]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}


# --- positions -------------------------------------------------------------------------------------------------------


def _field(step: dict[str, Any], name: str) -> Any:
    if name not in step:
        raise PatchRefused(f"The operation {step['op']} lacks {name!r}.")
    return step[name]


def parse_pointer(text: str) -> tuple[str, ...]:
    """Return the steps of a JSON Pointer. Raises PatchRefused."""
    if (text and not text.startswith("/")) or re.search(r"~(?![01])", text):
        raise PatchRefused(f"{text!r} is not a JSON Pointer.")
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:])


def _read_pointer(text: Any) -> Pointer:
    if not isinstance(text, str):
        raise PatchRefused(f"{text!r} is not a JSON Pointer.")
    return Pointer(parse_pointer(text))


def resolve_pointer(value: Any, text: Any) -> Pointer:
    """Resolve a pointer to a position with numeric indices; the last step may not exist yet."""
    pointer = ROOT
    for step in map(str, _read_pointer(text)):
        holder = value_at(value, pointer)
        if isinstance(holder, list) and (_INDEX.fullmatch(step) or step == "-"):
            pointer = pointer / (len(holder) if step == "-" else int(step))
        elif isinstance(holder, dict):
            pointer = pointer / step
        else:
            raise PatchRefused(f"There is no {text} in the document.")
    return pointer


def value_at(value: Any, pointer: Pointer) -> Any:
    """Return the part of a document at a position. Raises PatchRefused."""
    for step in pointer:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            raise PatchRefused(f"There is no {pointer} in the document.") from None
    return value


def _existing(spans: Spans, step: dict[str, Any], name: str) -> Pointer:
    pointer = resolve_pointer(spans.value, _field(step, name))
    if pointer not in spans.parts:
        raise PatchRefused(f"There is no {step[name] or 'document'} in the document.")
    return pointer


def _member(spans: Spans, step: dict[str, Any], name: str) -> Pointer:
    """Check a position for `add`: an index up to the list's length, or any member, which is replaced if it exists."""
    pointer = resolve_pointer(spans.value, _field(step, name))
    holder = value_at(spans.value, pointer.parent) if pointer else None
    if isinstance(holder, list) and isinstance(pointer[-1], int) and pointer[-1] > len(holder):
        raise PatchRefused(f"{pointer.parent} has {len(holder)} items; {pointer[-1]} is out of range.")
    return pointer


# --- text ---------------------------------------------------------------------------------------------------------


class _Value(NamedTuple):
    """A value to insert: a value to serialize, or text that was cut out elsewhere."""

    value: Any = None
    raw: str | None = None

    def write(self, spans: Spans, at: int) -> str:
        if self.raw is not None:
            return self.raw
        indent = _INDENT.match(_line_before(spans.text, at))
        return write_json(self.value, indent[0] if indent else "", lines="\n" in spans.text)

    @property
    def is_scalar(self) -> bool:
        return self.raw[:1] not in "{[" if self.raw is not None else not isinstance(self.value, dict | list)


def _line_before(text: str, at: int) -> str:
    match = _LAST_LINE.search(text, 0, at)
    return match[0] if match else ""


def _put(spans: Spans, pointer: Pointer, value: _Value) -> str:
    start, end = spans.parts[pointer]
    return spans.text[:start] + value.write(spans, start) + spans.text[end:]


def _insert(spans: Spans, pointer: Pointer, value: _Value) -> str:
    holder = value_at(spans.value, pointer.parent) if pointer else None
    if pointer == ROOT or (isinstance(holder, dict) and pointer in spans.parts):
        return _put(spans, pointer, value)
    key = "" if isinstance(holder, list) else f"{_quote(str(pointer[-1]))}: "
    if not holder:
        return _insert_first(spans, pointer.parent, key, value)
    children = _children(spans, pointer.parent, holder)
    index = int(pointer[-1]) if isinstance(holder, list) else len(children)
    if index < len(children):
        start = children[index][0]
        gap = _gap_before(spans.text, start)
        return spans.text[:start] + key + value.write(spans, start) + "," + gap + spans.text[start:]
    start, end = children[-1]
    gap = _gap_before(spans.text, start) or (" " if len(children) == 1 else "")
    return spans.text[:end] + "," + gap + key + value.write(spans, start) + spans.text[end:]


def _insert_first(spans: Spans, holder: Pointer, key: str, value: _Value) -> str:
    """Insert into `{}` or `[]`: on a new line if the text has several lines and the value is not a scalar."""
    start, end = spans.parts[holder]
    opening, closing = spans.text[start], spans.text[end - 1]
    if "\n" not in spans.text or value.is_scalar:
        inner = key + value.write(spans, start)
        return spans.text[:start] + opening + inner + closing + spans.text[end:]
    match = _INDENT.match(_line_before(spans.text, start))
    outer = match[0] if match else ""
    written = value.raw if value.raw is not None else write_json(value.value, outer + UNIT, lines=True)
    inner = f"\n{outer}{UNIT}{key}{written}\n{outer}"
    return spans.text[:start] + opening + inner + closing + spans.text[end:]


def _cut(spans: Spans, pointer: Pointer) -> str:
    if pointer == ROOT:
        raise PatchRefused("The document as a whole cannot be removed.")
    holder = value_at(spans.value, pointer.parent)
    children = _children(spans, pointer.parent, holder)
    start, end = (spans.keys[pointer], spans.parts[pointer][1])
    index = children.index((start, end))
    text = spans.text
    if len(children) == 1:
        outer_start, outer_end = spans.parts[pointer.parent]
        return text[: outer_start + 1] + text[outer_end - 1 :]
    if index + 1 < len(children):
        return text[:start] + text[children[index + 1][0] :]
    return text[: children[index - 1][1]] + text[end:]


def _children(spans: Spans, holder: Pointer, value: Any) -> list[tuple[int, int]]:
    """Return the positions of a container's members (with their keys) or items, in text order."""
    names = range(len(value)) if isinstance(value, list) else value
    return sorted((spans.keys[holder / name], spans.parts[holder / name][1]) for name in names)


def _gap_before(text: str, start: int) -> str:
    """Return the white space before a member or item."""
    before = text[:start]
    return before[len(before.rstrip(" \t\r\n")) :]


def _quote(text: str) -> str:
    written = json.dumps(text, ensure_ascii=False)
    # UTF-8 cannot encode lone surrogates.
    return json.dumps(text) if any("\ud800" <= sign <= "\udfff" for sign in written) else written


def write_json(value: Any, indent: str = "", *, lines: bool = True) -> str:
    """Serialize a value: on one line if it is short, else each part on its own line."""
    flat = _flat(value)
    if not lines or not isinstance(value, dict | list) or len(indent) + len(flat) <= WIDTH:
        return flat
    inner = indent + UNIT
    if isinstance(value, dict):
        parts = [f"{_quote(key)}: {write_json(item, inner)}" for key, item in value.items()]
        return "{\n" + ",\n".join(inner + part for part in parts) + f"\n{indent}}}"
    return "[\n" + ",\n".join(inner + write_json(item, inner) for item in value) + f"\n{indent}]"


def _flat(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_quote(key)}: {_flat(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flat, value)) + "]"
    return _quote(value) if isinstance(value, str) else json.dumps(value, allow_nan=False)
