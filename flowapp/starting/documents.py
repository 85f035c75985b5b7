"""Build the document of a new pipeline, and find the form field of a diagnostic."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from executors.target_database import TableName
from flowapp.starting.columns import Column
from flowapp.starting.place import Place
from ir.formats import FORMATS
from ir.load_modes import LOAD_MODES
from ir.pointers import Pointer
from ir.schema import SCHEMA_ID

Node = dict[str, Any]
REJECT, FAIL = "reject", "fail"
"""What happens to a row with a value that does not fit."""


@dataclass(frozen=True, slots=True)
class Load:
    """How rows are loaded. `key`, `watermark` and `order_by` name columns of the table.

    `from_table` means that the source is a table: it can select rows, and its empty texts are values."""

    mode: str
    key: tuple[str, ...] = ()
    on_misfit: str = REJECT
    watermark: str = ""
    order_by: str = ""
    from_table: bool = False

    @property
    def rejects(self) -> bool:
        return self.on_misfit == REJECT


def make_document(slug: str, name: str, source: Node, columns: Sequence[Column], place: Place, load: Load) -> Node:
    """Return a pipeline that reads the source, renames and drops columns, stores rejected rows, and loads the table."""
    nodes = [source, *_transforms(columns), *_checks(place, load), _target(place, columns, load)]
    for before, node in pairwise(nodes):
        node["inputs"] = [before["id"]]
    metadata = {"metadata": {"name": name}} if name else {}
    return {"$schema": SCHEMA_ID, "kind": "pipeline", "version": "1.0", "id": slug, **metadata, "nodes": nodes}


def file_source(folder: str, pattern: str, fmt: Node, columns: Sequence[Column], load: Load, members: str = "") -> Node:
    """Return a node that reads files; `members` is the pattern of those in archives, "" for usual names. A pipeline
    that fails on invalid values also fails on unreadable rows."""
    on_bad_row = {} if load.rejects or "on_bad_row" not in FORMATS[fmt["type"]].model_fields else {"onBadRow": "abort"}
    config = {"path": folder, "pattern": {"type": "glob", "value": pattern}, "format": {**fmt, **on_bad_row}}
    if members:
        config["members"] = {"type": "glob", "value": members}
    declared = {"columns": [column.source_column() for column in columns]} if columns else {}
    return {"id": "source", "kind": "source", "connector": "local_fs", "config": config, **declared}


def table_source(connection: str, table: TableName) -> Node:
    config = {"table": {"schema": table.schema, "name": table.table}}
    return {"id": "source", "kind": "source", "connector": "postgres", "connection": connection, "config": config}


def document_text(document: Node) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _transforms(columns: Sequence[Column]) -> list[Node]:
    dropped = [column.name for column in columns if not column.is_included]
    renamed = {c.name: c.target_name for c in columns if c.is_included and c.target_name != c.name}
    ops: list[Node] = []
    if dropped:
        ops.append({"op": "drop", "columns": dropped})
    if renamed:
        ops.append({"op": "rename", "columns": renamed})
    return [{"id": "columns", "kind": "transform", "inputs": [], "ops": ops}] if ops else []


def _checks(place: Place, load: Load) -> list[Node]:
    """Return the validate node with the table of rejected rows. Rows without a key cannot be loaded, so they are
    rejected."""
    if not load.rejects:
        return []
    rules = [{"type": "notNull", "field": column, "onFail": "skip"} for column in load.key]
    quarantine = {"enabled": True, "table": place.rejects_table}
    return [{"id": "check", "kind": "validate", "inputs": [], "rowLevel": rules, "quarantine": quarantine}]


def _target(place: Place, columns: Sequence[Column], load: Load) -> Node:
    fields: Node = {"loadMode": load.mode}
    if load.key and load.mode in LOAD_MODES and LOAD_MODES[load.mode].needs_key:
        fields["upsertKey"] = list(load.key)
    if load.watermark:
        fields["watermarkColumn"] = load.watermark
    if load.order_by:
        fields["orderBy"] = load.order_by
    if load.rejects:
        fields["onTypeMismatch"] = "skip"
    if load.from_table:
        fields["emptyAsNull"] = False
    if columns and place.destination is None:
        fields["columns"] = [_target_column(column, load) for column in columns if column.is_included]
    return place.target(**fields)


def _target_column(column: Column, load: Load) -> Node:
    spec = {"name": column.target_name, "type": column.type}
    return {**spec, "nullable": False} if column.target_name in load.key else spec


_TARGET_FIELDS = {"loadMode": "mode", "upsertKey": "mode", "watermarkColumn": "watermark", "orderBy": "orderBy"}


def field_of(document: Node, path: Pointer, columns: Sequence[Column]) -> str:
    """Return the name of the form field from which a position of the document is filled; "" if there is none."""
    if path[:1] in (("id",), ("metadata",)):
        return "name"
    if len(path) < 3 or path[0] != "nodes":
        return ""
    node, rest = document["nodes"][path[1]], path[2:]
    if node["kind"] == "source":
        return _source_field(node, rest, columns)
    if node["kind"] == "target" and rest[0] == "columns":
        return _column_field(columns, "target_name", node["columns"][rest[1]]["name"]) if len(rest) > 1 else ""
    if node["kind"] == "target":
        return _TARGET_FIELDS.get(str(rest[0]), str(rest[0]))
    if node["kind"] == "transform" and len(rest) > 3:
        return _column_field(columns, "name", str(rest[-1]))
    return ""


def _source_field(node: Node, rest: tuple[str | int, ...], columns: Sequence[Column]) -> str:
    if rest[0] == "columns":
        return _column_field(columns, "name", node["columns"][rest[1]]["name"]) if len(rest) > 1 else ""
    if rest[:2] == ("config", "format"):
        return str(rest[2]) if len(rest) > 2 else "type"
    return "files" if rest[0] == "config" else ""


def _column_field(columns: Sequence[Column], attribute: str, name: str) -> str:
    return next((column.prefix for column in columns if getattr(column, attribute) == name), "")
