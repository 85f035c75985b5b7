"""Compare the detected settings of a source's newest file, or the columns of the first records of a web service, with
the draft, and propose changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from executors.api import (
    LOOKED_AT_BYTES,
    DetectedColumn,
    Detection,
    GivenSettings,
    Problem,
    detect_file,
    sample_records,
)
from flowapp.accounts.models import Workspace
from flowapp.editor.streams import store_of
from flowapp.pipelines.edits import find_node, require_node
from flowapp.uploads.heads import newest_head
from ir.connectors import check_settings
from ir.errors import FlowError
from ir.formats import FORMATS
from ir.json_edits import write_json
from ir.nodes import Source
from ir.pointers import ROOT, Pointer
from ir.words import counted

Node = dict[str, Any]
Patch = list[dict[str, Any]]
ABSENT = "–"
JSONL = GivenSettings(type="jsonl")
SAMPLED_RECORDS, SAMPLE_SECONDS = 500, 20.0
"""How many records of a web service are read, and how long that may take while the page waits."""
_READ = ("connector", "connection", "config")


@dataclass(frozen=True, slots=True)
class Change:
    what: str
    before: str
    after: str


@dataclass(slots=True)
class Detected:
    """The proposed changes of a draft. The patches change the format, the columns, and both."""

    file: str
    problems: tuple[Problem, ...]
    format_changes: list[Change]
    column_changes: list[Change]
    missing: list[str] = field(default_factory=list)
    format_patch: Patch = field(default_factory=list)
    column_patch: Patch = field(default_factory=list)

    @property
    def whole_patch(self) -> Patch:
        return [*self.format_patch, *self.column_patch[1:]] if self.format_patch else self.column_patch


def detect_source(workspace: Workspace, document: Any, node_id: str) -> Detected:
    """Detect the settings of the newest file that a source of a draft would read. Raises FlowError."""
    at, node = find_node(document, node_id)
    if node.get("connector") == "http_api":
        path, detection = _detect_records(workspace, node)
        old_format = new_format = {}
    else:
        path, detection = _detect_newest(workspace, node)
        old_format = _dict(_dict(node.get("config")).get("format"))
        new_format = _merge_format(old_format, detection.format.to_document())
    old_columns = [column for column in node.get("columns") or () if isinstance(column, dict)]
    new_columns = _merge_columns(old_columns, detection)
    known = {column.name for column in detection.columns}
    detected = Detected(
        file=path,
        problems=detection.problems,
        format_changes=list(_changes(old_format, new_format)),
        column_changes=list(_column_changes(old_columns, new_columns)),
        missing=[name for column in old_columns if (name := str(column.get("name", ""))) not in known],
    )
    test = require_node(at, node)
    if detected.format_changes:
        detected.format_patch = [test, _put(_dict(node.get("config")), at / "config" / "format", new_format)]
    if detected.column_changes:
        detected.column_patch = [test, _put(node, at / "columns", new_columns)]
    return detected


def _detect_newest(workspace: Workspace, node: Mapping[str, Any]) -> tuple[str, Detection]:
    """Return the path and the detected settings of the newest file. The format in the document is ignored, because it
    may be wrong."""
    config = {**_dict(node.get("config")), "format": {"type": "csv"}}
    sound = {"id": "source", "kind": "source", "connector": node.get("connector"), "config": config}
    try:
        head = newest_head(workspace, Source.read(sound))
    except (KeyError, OSError, ValueError):
        head = None
    if head is None:
        raise FlowError(
            "detection.no_file",
            "There is no file to detect settings from.",
            hint="Choose the folder and the file names, and upload a file to the folder.",
        )
    return head.path, head.detect(GivenSettings())


def _detect_records(workspace: Workspace, node: Mapping[str, Any]) -> tuple[str, Detection]:
    """Return the URL of a web service, and the columns of its first records. A web service has no format."""
    config = _dict(node.get("config"))
    if faults := check_settings("http_api", config, ROOT)[1]:
        raise FlowError("detection.no_source", faults[0].message, hint=faults[0].hint)
    source = Source.read({"id": "source", **{name: node[name] for name in _READ if name in node}, "kind": "source"})
    found = sample_records(source, store_of(workspace, node), SAMPLED_RECORDS, SAMPLE_SECONDS)
    if not found.strip():
        raise FlowError(
            "detection.no_records",
            "The web service returned no records.",
            hint="Check the URL, the parameters, the start value and the path of the records.",
        )
    name = f"{config['url']} (first {counted(len(found.splitlines()), 'record')})"
    return name, detect_file(
        found[:LOOKED_AT_BYTES], "records.jsonl", is_whole=len(found) <= LOOKED_AT_BYTES, given=JSONL
    )


def _dict(value: Any) -> Node:
    return value if isinstance(value, dict) else {}


def _merge_format(old: Node, detected: Node) -> Node:
    """Return the old format with the detected settings. Settings that equal their default are not added."""
    if old.get("type") != detected["type"]:
        old = {"type": detected["type"]}
    defaults = {name: info.default for name, info in _format_fields(detected["type"])}
    changed = {name: value for name, value in detected.items() if value != old.get(name, defaults.get(name))}
    return {**old, **changed}


def _format_fields(kind: str) -> Iterator[tuple[str, Any]]:
    for name, info in FORMATS[kind].model_fields.items():
        yield info.alias or name, info


def _merge_columns(old: list[Node], detection: Detection) -> list[Node]:
    """Return the detected columns in the order of the file, then the columns that the file lacks. Settings that cannot
    be detected, such as `nullable`, are copied from the old column."""
    by_name = {str(column.get("name")): column for column in old}
    merged = []
    for column in detection.columns:
        copied = {name: value for name, value in by_name.pop(column.name, {}).items() if name not in _DETECTED}
        merged.append({**copied, **_column(column)})
    return [*merged, *by_name.values()]


_WORDS = {"format": "format", "decimalSeparator": "decimal separator", "groupSeparator": "group separator"}
_DETECTED = ("name", "type", *_WORDS)


def _column(column: DetectedColumn) -> Node:
    formats = list(column.formats)
    written = {
        "format": formats[0] if len(formats) == 1 else formats or None,
        "decimalSeparator": column.decimal_separator,
        "groupSeparator": column.group_separator,
    }
    return {"name": column.name, "type": column.type, **{name: v for name, v in written.items() if v is not None}}


def _changes(old: Node, new: Node) -> Iterator[Change]:
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) != new.get(name):
            yield Change(name, _shown(old.get(name)), _shown(new.get(name)))


def _column_changes(old: list[Node], new: list[Node]) -> Iterator[Change]:
    before = {str(column.get("name")): _described(column) for column in old}
    for column in new:
        name, after = str(column["name"]), _described(column)
        if before.get(name) != after:
            yield Change(name, before.get(name, ABSENT), after)


def _described(column: Node) -> str:
    """Return a column's type and the formats of its values as text."""
    written = [f"{words} {write_json(column[name])}" for name, words in _WORDS.items() if name in column]
    return ", ".join([str(column.get("type", ABSENT)), *written])


def _shown(value: Any) -> str:
    return ABSENT if value is None else value if isinstance(value, str) and value.strip() else write_json(value)


def _put(holder: Node, at: Pointer, value: Any) -> dict[str, Any]:
    return {"op": "replace" if at[-1] in holder else "add", "path": str(at), "value": value}
