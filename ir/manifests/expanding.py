"""Builds documents from the short form: one for each table, with a source, a transform if there are operations, and a
target."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ir.connectors import CONNECTORS
from ir.connectors.base import Connector
from ir.diagnostics import Diagnostic, shown
from ir.manifests.diagnostics import fault
from ir.manifests.short import Defaults, ShortDestination, ShortPipeline
from ir.pointers import ROOT, Pointer
from ir.schedules import CronSchedule, EverySchedule

SOURCE, SHAPE, LOAD = "source", "shape", "load"
_LONGEST_ID = 63
_EVERY = re.compile(r"every\s+(\S+)")
_SCHEDULE_OPTIONS = ("jitter", "catchUp")
Origins = Mapping[Pointer, Pointer]
"""The positions in a short manifest by the positions in the document that is built from it."""


@dataclass(frozen=True, slots=True)
class Expanded:
    """A document built from a short manifest. `table` is its entry in `tables`."""

    document: dict[str, Any]
    table: str | None
    origins: Origins
    is_short: bool = False

    def origin(self, at: Pointer) -> Pointer:
        """Return the position in the manifest for a position in the document."""
        for length in range(len(at), -1, -1):
            found = self.origins.get(Pointer(at[:length]))
            if found is not None:
                return Pointer((*found, *at[length:]))
        return ROOT

    def placed(self, diagnostic: Diagnostic) -> Diagnostic:
        """Return a diagnostic with its position in the manifest. Fixes are retained only if the position is the same:
        otherwise the manifest lacks the part that they change."""
        at = self.origin(diagnostic.path)
        return replace(
            diagnostic, path=at, fixes=diagnostic.fixes if at == diagnostic.path and not self.is_short else ()
        )


def expand(short: ShortPipeline, defaults: Defaults) -> tuple[list[Expanded], list[Diagnostic]]:
    """Return the documents of a short manifest, and the errors of those that cannot be built. Positions of errors are
    those in the manifest."""
    faults = list(_own_faults(short, defaults))
    if faults:
        return [], faults
    if short.tables is None:
        return [_document(short, defaults, None, None)], []
    made: list[Expanded] = []
    seen: set[str] = set()
    ids: set[str] = set()
    for i, table in enumerate(short.tables):
        one, found = _expand_table(short, defaults, table, i)
        target = _target_table(table)
        if one is not None and target in seen:
            message = f"Two of the tables would be loaded into {shown(target)}."
            found = [fault("manifest.table_unusable", ROOT / "tables" / i, message)]
        elif one is not None and one.document["id"] in ids:
            message = f"The pipelines of two tables would have the id {one.document['id']}."
            hint = "Write a document for one of them, with an id of its own."
            found = [fault("manifest.id_unusable", ROOT / "tables" / i, message, hint=hint)]
        seen.add(target)
        ids |= {one.document["id"]} if one is not None else set()
        made += [one] if one is not None and not found else []
        faults += found
    return made, faults


def _own_faults(short: ShortPipeline, defaults: Defaults) -> Iterator[Diagnostic]:
    connector = CONNECTORS.get(short.source.connector)
    if short.tables and connector is not None and connector.table_settings is None:
        message = f"The connector {connector.name} reads no tables by name."
        yield fault("manifest.tables_unsupported", ROOT / "tables", message)
    if short.tables is None and short.destination.table is None:
        yield fault("manifest.table_required", ROOT / "destination" / "table", "The entry names no table to load.")
    schedule = short.schedule if short.schedule is not None else defaults.schedule
    is_cron = isinstance(schedule, str) and not _EVERY.fullmatch(schedule.strip())
    if short.timezone is not None and not is_cron:
        yield fault("manifest.timezone_unused", ROOT / "timezone", "Only a cron expression has a time zone here.")
    for name in _SCHEDULE_OPTIONS:
        if name in _written(short) and not isinstance(schedule, str):
            message = f"{name} needs a schedule that is written as text. Other schedules have a {name} of their own."
            yield fault("manifest.schedule_option_unused", ROOT / name, message)


def _expand_table(
    short: ShortPipeline, defaults: Defaults, table: str, index: int
) -> tuple[Expanded | None, list[Diagnostic]]:
    at = ROOT / "tables" / index
    connector = CONNECTORS.get(short.source.connector)
    try:
        settings = _settings(connector, short.source.config, table)
    except ValueError as error:
        return None, [fault("manifest.table_unusable", at, f"{shown(table)} is not the name of a table: {error}.")]
    pipeline_id = f"{short.id}-{re.sub('[^a-z0-9_-]', '_', table.lower())}"
    if len(pipeline_id) > _LONGEST_ID:
        message = (
            f"The pipeline of {shown(table)} would be called {pipeline_id}, which has more than {_LONGEST_ID} signs."
        )
        return None, [fault("manifest.id_unusable", at, message)]
    return _document(short, defaults, (pipeline_id, table, settings), index), []


def _settings(connector: Connector | None, shared: dict[str, Any], table: str) -> dict[str, Any]:
    """Return the settings of a source that reads one table. Raises ValueError. An unknown connector is reported when
    the document is parsed."""
    if connector is None or connector.table_settings is None:
        return dict(shared)
    return connector.table_settings(shared, table)


def _document(
    short: ShortPipeline, defaults: Defaults, one: tuple[str, str, dict[str, Any]] | None, index: int | None
) -> Expanded:
    pipeline_id, table, settings = one or (short.id, None, dict(short.source.config))
    written = short.to_document()
    source = {**written["source"], "config": settings}
    nodes = [{"id": SOURCE, "kind": "source", **source}]
    if short.transforms:
        nodes.append({"id": SHAPE, "kind": "transform", "inputs": [SOURCE], "ops": written["transforms"]})
    nodes.append(_target(short, defaults, nodes[-1]["id"], table))
    head: dict[str, Any] = {"kind": "pipeline", "version": "1.0", "id": pipeline_id}
    if "metadata" in written:
        head["metadata"] = written["metadata"]
    schedule = _schedule(short, defaults)
    if schedule is not None:
        head["schedule"] = schedule
    return Expanded({**head, "nodes": nodes}, table, _origins(short, nodes, index), is_short=True)


def _target(short: ShortPipeline, defaults: Defaults, reads: str, table: str | None) -> dict[str, Any]:
    chosen = {**_written(defaults.destination), **_written(short.destination)}
    location = {
        "connector": chosen.get("connector", "postgres"),
        "connection": chosen.get("connection"),
        "schema": chosen.get("schema", "public"),
        "table": chosen.get("table") if table is None else _target_table(table),
    }
    fields: dict[str, Any] = {"loadMode": chosen.get("loadMode") or _load_mode(short)}
    if "upsertKey" in chosen:
        fields["upsertKey"] = chosen["upsertKey"]
    if short.incremental is not None:
        fields["watermarkColumn"] = short.incremental
    connector = CONNECTORS.get(short.source.connector)
    if connector is not None and connector.keeps_empty:
        fields["emptyAsNull"] = False
    present = {name: value for name, value in location.items() if value is not None}
    return {"id": LOAD, "kind": "target", "inputs": [reads], **present, **fields}


def _written(part: ShortDestination | ShortPipeline | Defaults) -> dict[str, Any]:
    return part.to_document()


def _load_mode(short: ShortPipeline) -> str:
    if short.incremental is not None:
        return "incremental_watermark"
    connector = CONNECTORS.get(short.source.connector)
    return "blue_green" if connector is not None and connector.reads == "snapshot" else "append"


def _target_table(table: str) -> str:
    """Return the table that a source table is loaded into: the last part of its name."""
    return re.split(r"[./]", table.rstrip("/"))[-1].strip('"')


def _schedule(short: ShortPipeline, defaults: Defaults) -> dict[str, Any] | None:
    given = short.schedule if short.schedule is not None else defaults.schedule
    if given is None:
        return None
    if isinstance(given, CronSchedule | EverySchedule):
        return given.to_document()
    options = {
        name: value for name, value in (_written(defaults) | _written(short)).items() if name in _SCHEDULE_OPTIONS
    }
    if every := _EVERY.fullmatch(given.strip()):
        return {"kind": "every", "interval": every[1], **options}
    zone = short.timezone or defaults.timezone
    return {"kind": "cron", "expression": given, **({"timezone": zone} if zone else {}), **options}


def _origins(short: ShortPipeline, nodes: list[dict[str, Any]], index: int | None) -> Origins:
    load = ROOT / "nodes" / (len(nodes) - 1)
    table = ROOT / "tables" / index if index is not None else None
    found = {
        ROOT: ROOT,
        ROOT / "nodes": ROOT,
        ROOT / "nodes" / 0: ROOT / "source",
        load: ROOT / "destination",
        load / "watermarkColumn": ROOT / "incremental",
    }
    if len(nodes) > 2:
        shape = ROOT / ("transforms" if short.compiled is None else "compiled")
        found |= {ROOT / "nodes" / 1: shape, ROOT / "nodes" / 1 / "ops": shape}
    if table is not None:
        found |= {load / "table": table, ROOT / "nodes" / 0 / "config" / "table": table}
    if isinstance(short.schedule, str):
        found |= {ROOT / "schedule" / name: ROOT / "schedule" for name in ("interval", "expression")}
        found |= {ROOT / "schedule" / name: ROOT / name for name in ("timezone", *_SCHEDULE_OPTIONS)}
    return found
