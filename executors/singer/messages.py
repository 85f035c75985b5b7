"""The messages of a tap: one JSON object per line. Numbers stay as the tap wrote them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from executors.errors import Terminal
from executors.formats.json_rows import BadRecordError, Row, read_row


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a stream, as JSON Schema."""

    stream: str
    schema: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Record:
    """A row of a stream: the exact text of a JSON object, in one line."""

    stream: str
    text: str


@dataclass(frozen=True, slots=True)
class State:
    """How far the tap has read: the exact text of a JSON value."""

    text: str


@dataclass(frozen=True, slots=True)
class NewVersion:
    """A version of a stream is the current one; rows of earlier versions no longer exist at the source."""

    stream: str


Message = Schema | Record | State | NewVersion


def read_messages(lines: Iterable[bytes], tap: str) -> Iterator[Message]:
    """Yield the messages of a tap. Raises Terminal `singer.message_malformed`, and `singer.batch_refused`."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield _message(line, _LinePosition(tap, number))


@dataclass(frozen=True, slots=True)
class _LinePosition:
    tap: str
    number: int

    def malformed(self, why: str) -> Terminal:
        return Terminal(
            "singer.message_malformed",
            f"Line {self.number:,} of the output of the tap {self.tap} is not a Singer message: {why}.",
            hint="The tap may write other text to its standard output, or be defective. Nothing was loaded.",
        )


def _message(line: bytes, position: _LinePosition) -> Message:
    try:
        row, nested = read_row(line.decode())
    except UnicodeDecodeError:
        raise position.malformed("not valid utf-8") from None
    except BadRecordError as error:
        raise position.malformed(str(error)) from None
    kind = row.get("type")
    if kind == "RECORD":
        return Record(_text(row, "stream", position), _object(row, "record", nested, position))
    if kind == "SCHEMA":
        return _schema(row, nested, position)
    if kind == "STATE":
        return State(_object(row, "value", nested, position))
    if kind == "ACTIVATE_VERSION":
        return NewVersion(_text(row, "stream", position))
    if kind == "BATCH":
        raise Terminal(
            "singer.batch_refused",
            f"The tap {position.tap} sends rows in files (BATCH), which Flow does not read.",
            hint="Remove batch_config from the settings, so that it sends the rows themselves.",
        )
    raise position.malformed(f"the type {kind!r} is unknown" if kind and len(kind) < 40 else "it has no known type")


def _schema(row: Row, nested: frozenset[str], position: _LinePosition) -> Schema:
    stream = _text(row, "stream", position)
    return Schema(stream, json.loads(_object(row, "schema", nested, position)))


def _text(row: Row, name: str, position: _LinePosition) -> str:
    if not (found := row.get(name)):
        raise position.malformed(f"it has no {name}")
    return found


def _object(row: Row, name: str, nested: frozenset[str], position: _LinePosition) -> str:
    found = row.get(name)
    if found is None or name not in nested or not found.startswith("{"):
        raise position.malformed(f"{name} is not a JSON object")
    # A line of the output ends at LF only, a line of JSON lines also at CR, which is white space between values.
    return found.replace("\r", " ")
