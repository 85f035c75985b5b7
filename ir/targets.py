"""Rules about targets: those of their load modes, and those about several targets and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ir.changes import follows_changes
from ir.connectors import TARGET_CONNECTORS
from ir.destinations import LOADABLE_KINDS, Destinations
from ir.diagnostics import Diagnostic, diagnose, listed, shown
from ir.graph import Graph, known_columns
from ir.holds import check_hold
from ir.load_modes import MODE_FIELDS, TargetView, load_mode
from ir.load_modes.base import Findings
from ir.nodes import Source, Target
from ir.quarantines import check_quarantines


class _Table(NamedTuple):
    connection: str
    schema: str
    table: str


def check_targets(graph: Graph, destinations: Destinations | None, streaming: bool) -> Findings:
    """Yield the findings of all rules in this module."""
    views = list(_views(graph, destinations or {}, streaming))
    for view in views:
        yield from load_mode(view.target.load_mode).check(view)
        yield from _check_unused(view)
        yield from check_hold(view)
        yield from _check_loadable(view)
        yield from _check_new_table(view)
    yield from _check_loaded_twice(views)
    yield from check_quarantines(graph)


def _views(graph: Graph, destinations: Destinations, streaming: bool) -> Iterator[TargetView]:
    projected = known_columns(graph)
    count = {kind: sum(isinstance(node.spec, kind) for node in graph.nodes) for kind in (Source, Target)}
    for node in graph.nodes:
        if isinstance(node.spec, Target):
            table = _table_of(node.spec)
            yield TargetView(
                node.spec,
                node.at,
                projected[node.at],
                destinations.get(table),
                table in destinations,
                count[Source],
                count[Target],
                streaming,
                follows_changes(graph.by_id.get(node.spec.cdc_source or "")),
                _runs_sql(node.spec),
            )


def _runs_sql(target: Target) -> bool:
    """Return whether the destination runs the statements of load modes; true for an unknown connector."""
    connector = TARGET_CONNECTORS.get(target.connector)
    return connector is None or connector.runs_sql


def _table_of(target: Target) -> _Table:
    return _Table(target.connection, target.schema_, target.table)


def _check_unused(view: TargetView) -> Iterator[Diagnostic]:
    written = view.target.model_fields_set
    for name in sorted((MODE_FIELDS - load_mode(view.target.load_mode).fields) & written):
        alias = str(Target.model_fields[name].alias)
        yield diagnose(
            "target.field_unused",
            view.at / alias,
            f"The load mode {view.target.load_mode} does not use {alias}.",
            fixes=[[{"op": "remove", "path": str(view.at / alias)}]],
        )


def _check_loadable(view: TargetView) -> Iterator[Diagnostic]:
    found = view.destination
    if found is not None and found.kind not in LOADABLE_KINDS:
        yield diagnose("target.not_loadable", view.at / "table", f"{found.schema}.{found.table} is a {found.kind}.")
    elif found is not None and not found.writable:
        message = f"The connection's user cannot insert into {found.schema}.{found.table}."
        yield diagnose("target.not_loadable", view.at / "table", message)


def _check_new_table(view: TargetView) -> Iterator[Diagnostic]:
    """Warn of columns that a new table would lack or that the rows lack, because a run that creates it would fail."""
    declared = view.target.columns
    if declared is None or view.destination is not None:
        return
    missing = [name for name in view.projected.present if name not in {column.name for column in declared}]
    if missing:
        types, at = view.projected.types, view.at / "columns"
        added = [{"name": name, "type": types.get(name) or "string"} for name in missing]
        patch = [{"op": "add", "path": str(at / "-"), "value": column} for column in added]
        message = f"The columns of a new table lack {listed(missing)}, which the rows have."
        if unknown := [name for name in missing if not types.get(name)]:
            message += (
                f" The fix adds {listed(unknown)} as string: only a run knows the type. Change it if you know it."
            )
        yield diagnose("target.column_missing", at, message, fixes=[patch])
    for i, column in enumerate(declared):
        if not column.nullable and view.projected.has(column.name) is False:
            at = view.at / "columns" / i
            message = f"The rows have no column {shown(column.name)}, which must not be NULL in a new table."
            yield diagnose("target.column_unfilled", at, message, fixes=[[{"op": "remove", "path": str(at)}]])


def _check_loaded_twice(views: Sequence[TargetView]) -> Iterator[Diagnostic]:
    """Refuse two targets of a table if one would lose rows of the other: a target that replaces the table deletes rows
    that another has just loaded; a watermark begins at the highest value of the table, so that rows below the values
    that another has just loaded are skipped."""
    first: dict[_Table, TargetView] = {}
    for view in views:
        other = first.setdefault(_table_of(view.target), view)
        modes = [load_mode(v.target.load_mode) for v in (other, view)]
        if other is not view and any(mode.replaces_all_rows for mode in modes):
            message = f"{other.target.id} also loads this table, and one of the two replaces all rows."
            yield diagnose("target.loaded_twice", view.at / "table", message)
        elif other is not view and any(mode.keeps_watermark for mode in modes):
            message = f"{other.target.id} also loads this table, so the watermark would include its rows."
            yield diagnose("target.loaded_twice", view.at / "table", message)
