"""The lines of a state file, and the columns of the control database in them.

They contain no secret, no encrypted text and no row value. The first line of a file describes it, the lines of each
pipeline follow, and the last line has the number of lines before it and their SHA-256."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, TextIO
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import models

from flowapp.runs.load_units.models import LoadUnit
from flowapp.runs.models import CommitRecord, NodeRun, RuleCount, Run
from ir.errors import FlowError

FORMAT, VERSION = "flow-state", 1
KINDS = ("state", "pipeline", "run", "file", "watermark", "load_record", "end")
Record = dict[str, Any]

_LEFT_OUT: dict[type[models.Model], frozenset[str]] = {
    Run: frozenset(
        (
            *("workspace", "pipeline", "version", "requested_by", "draft_document", "retry_of", "error_detail"),
            *("lease_owner", "lease_until", "sent_at", "outcome", "step", "idle_since"),
            *("may_have_committed", "finishing", "cancel_requested"),
        )
    ),
    NodeRun: frozenset(("id", "workspace", "run")),
    RuleCount: frozenset(("id", "workspace", "run")),
    CommitRecord: frozenset(("id", "workspace", "pipeline", "run", "statements")),
    LoadUnit: frozenset(("workspace", "pipeline", "run", "header")),
}


def columns_of(model: type[models.Model]) -> list[models.Field[Any, Any]]:
    return [field for field in model._meta.concrete_fields if field.name not in _LEFT_OUT[model]]


def dump(row: models.Model) -> Record:
    return {field.name: getattr(row, field.attname) for field in columns_of(type(row))}


def load(model: type[models.Model], record: Record) -> Record:
    """Return the columns of a record with their types. Raises FlowError if the record is not of this version."""
    try:
        return {field.name: field.to_python(record[field.name]) for field in columns_of(model)}
    except (KeyError, TypeError, ValueError, ValidationError) as error:
        raise malformed(f"A {model.__name__} lacks or misspells {error}.") from error


def malformed(message: str) -> FlowError:
    return FlowError("state.malformed", message, hint="Export the state again with the same release of Flow.")


class Writer:
    """Writes lines, and finally their number and SHA-256."""

    def __init__(self, file: TextIO) -> None:
        self._file, self._hash, self.lines = file, hashlib.sha256(), 0

    def write(self, kind: str, record: Record) -> None:
        line = json.dumps({**record, "type": kind}, default=_text, ensure_ascii=False) + "\n"
        self._hash.update(line.encode())
        self._file.write(line)
        self.lines += 1

    def end(self) -> None:
        last = {"type": "end", "lines": self.lines, "sha256": self._hash.hexdigest()}
        self._file.write(json.dumps(last) + "\n")


def _text(value: object) -> str:
    """Convert a value to JSON. Times include microseconds, because an import compares them."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"A {type(value).__name__} has no text in a state file.")


def verify(path: Path) -> Record:
    """Read the file line by line and return its first line. Raises FlowError unless the file is complete and
    unchanged."""
    digest, first, last = hashlib.sha256(), None, None
    lines = 0
    with _opened(path) as file:
        for line in file:
            if last is not None:
                raise malformed("There are lines behind the last one.")
            record = _parse(line)
            if record["type"] not in KINDS:
                raise malformed(f"A line has the unknown type {record['type']!r}.")
            if record["type"] == "end":
                last = record
                continue
            first = first or record
            digest.update(line)
            lines += 1
    if first is None or (first.get("format"), first.get("version")) != (FORMAT, VERSION) or not first.get("workspace"):
        raise malformed(f"{path} is no state file of version {VERSION}.")
    if last is None or (last.get("lines"), last.get("sha256")) != (lines, digest.hexdigest()):
        raise FlowError(
            "state.damaged",
            f"{path} is cut off or was changed: its lines do not have the checksum of its last line.",
            hint="Copy the file again, or export again. Nothing was imported.",
        )
    return first


def read(path: Path) -> Iterator[Record]:
    with _opened(path) as file:
        yield from map(_parse, file)


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise FlowError(
            "state.unreadable", f"{path}: {error.strerror}.", hint="Name a file that `flow state export` has written."
        ) from error


def _parse(line: bytes) -> Record:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise malformed("A line is not JSON: the file is cut off or was changed.") from error
    if not isinstance(record, dict) or not isinstance(record.get("type"), str):
        raise malformed("A line is not an object with a type.")
    return record
