"""The third phase of parsing: rules that types cannot express. Each rule examines the whole draft."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ir.aggregates import check_aggregates, check_types
from ir.allowances import Allowances
from ir.backfills import check_backfill
from ir.branches import check_branches
from ir.budget import spend
from ir.changes import check_changes
from ir.checks.base import Check
from ir.column_changes import check_column_changes
from ir.columns import Columns
from ir.connectors import CONNECTORS, TARGET_CONNECTORS, check_settings
from ir.connectors.base import Connector, TargetConnector
from ir.customs import check_customs
from ir.destination_support import check_support
from ir.destinations import Destinations
from ir.diagnostics import Diagnostic, Skipped, diagnose, listed, shown
from ir.explodes import check_explodes
from ir.expressions import ExpressionError, rename_column
from ir.graph import Graph, check_graph, known_columns
from ir.hooks.base import BaseHook, stage_at
from ir.joins import check_join_columns, check_joins, joins_of
from ir.kinds import KindTable
from ir.load_modes.base import Findings
from ir.nodes import Source, Target, Transform
from ir.nodes.validate import check_rule_ids
from ir.not_yet import NOT_YET
from ir.ops import Deduplicate, Op
from ir.pointers import ROOT, Pointer, value_at
from ir.query_allowances import check_allowances
from ir.repeated_rows import check_repeated_rows
from ir.rules.base import RowRule
from ir.salvage import SoundPart
from ir.schedules import CronSchedule, EverySchedule
from ir.spelling import guess
from ir.structure import Draft, DraftNode
from ir.targets import check_targets
from ir.unions import check_unions, check_united_columns
from ir.windows import check_windows


@dataclass(frozen=True)
class _Subject:
    draft: Draft
    graph: Graph
    document: Any
    destinations: Destinations | None
    sources: Mapping[str, Sequence[str]]
    streaming: bool
    allowances: Allowances | None

    @cached_property
    def parts(self) -> list[SoundPart]:
        return [part for node in self.draft.nodes for part in node.parts]


def check_semantics(
    draft: Draft,
    document: Any,
    destinations: Destinations | None,
    sources: Mapping[str, Sequence[str]],
    streaming: bool,
    allowances: Allowances | None,
) -> list[Diagnostic | Skipped]:
    """Return the diagnostics of all rules. `document` is the value that the draft was read from."""
    subject = _Subject(draft, Graph(draft.nodes), document, destinations, sources, streaming, allowances)
    return [finding for rule in RULES for finding in rule(subject)]


def _check_schedule(subject: _Subject) -> Findings:
    if isinstance(subject.draft.schedule, CronSchedule | EverySchedule):
        yield from subject.draft.schedule.check(ROOT / "schedule")


def _check_backfill(subject: _Subject) -> Findings:
    yield from check_backfill(subject.draft, subject.graph, subject.destinations)


def _check_graph(subject: _Subject) -> Findings:
    yield from check_graph(subject.graph)


def _check_joins(subject: _Subject) -> Findings:
    yield from check_joins(subject.graph)


def _check_unions(subject: _Subject) -> Findings:
    yield from check_unions(subject.graph)


def _check_branches(subject: _Subject) -> Findings:
    yield from check_branches(subject.graph)


def _check_parts(subject: _Subject) -> Findings:
    """Yield the diagnostics of each part itself."""
    for part in subject.parts:
        spend(10)
        yield from _check_part(part)
    for node in subject.draft.nodes:
        if node.kind == "validate":
            yield from check_rule_ids(_rules_of(node))

    for part in subject.parts:
        if isinstance(part.spec, BaseHook):
            yield from part.spec.check_stage(stage_at(part.spec, part.at), part.at)


def _check_part(part: SoundPart) -> Findings:
    for finding in part.spec.check(part.at):
        if part.whole or finding.path != part.at:
            yield finding


def _rules_of(node: DraftNode) -> list[tuple[RowRule, Pointer]]:
    return [(part.spec, part.at) for part in node.parts if isinstance(part.spec, RowRule) and part.whole]


_OPEN_FAMILIES = {table.family: table for table in (CONNECTORS, TARGET_CONNECTORS)}
"""Families whose names are not part of the types, because packages may add to them."""


def _check_kinds(subject: _Subject) -> Findings:
    """Report unknown kinds, and those that this release cannot run."""
    for part in subject.parts:
        yield from _check_names(part.spec.kinds(part.at))
    for node in subject.draft.nodes:
        raw = value_at(subject.document, node.at)
        if node.kind == "source" and isinstance(raw.get("connector"), str) and raw["connector"] in CONNECTORS:
            yield from _check_config(raw, node.at)


def _check_names(named: Iterator[tuple[str, str, Pointer]]) -> Findings:
    for family, name, pointer in named:
        if (family, name) in NOT_YET:
            yield diagnose("kind.not_available", pointer, f"The {family} {name} is not available in this release.")
        elif family in _OPEN_FAMILIES and name not in _OPEN_FAMILIES[family]:
            yield _unknown_connector(name, pointer, _OPEN_FAMILIES[family])


def _unknown_connector(name: str, at: Pointer, table: KindTable[Connector] | KindTable[TargetConnector]) -> Diagnostic:
    if name in ("ftp", "ftps"):
        fix = [{"op": "replace", "path": str(at), "value": "sftp"}]
        return diagnose("connector.use_sftp", at, f"The connector {name} is not supported.", fixes=[fix])
    near = guess(name, table)
    message = f"Unknown {table.family} {shown(name)}. Known: {listed(table)}."
    fixes = [[{"op": "replace", "path": str(at), "value": near}]] if near else []
    return diagnose("connector.unknown", at, message, fixes=fixes)


def _check_config(source: dict[str, Any], at: Pointer) -> Findings:
    """Check the settings of a source: their structure, then their semantics."""
    connector, config = source["connector"], source.get("config")
    kind = CONNECTORS[connector]
    if kind.needs_connection and source.get("connection") is None:
        message = f"The connector {connector} needs a connection."
        yield diagnose("source.connection_required", at / "connection", message)
    if isinstance(config, dict):
        parts, faults = check_settings(connector, config, at / "config")
        yield from faults
        for part in parts:
            yield from _without_echoes(_check_part(part), faults)
            yield from _check_names(part.spec.kinds(part.at))


def _without_echoes(findings: Findings, faults: list[Diagnostic]) -> Findings:
    """Return the diagnostics that are not at or below an invalid value."""
    faulty_paths = {fault.path for fault in faults}
    for finding in findings:
        if not any(Pointer(finding.path[:i]) in faulty_paths for i in range(1, len(finding.path) + 1)):
            yield finding


def _check_queries(subject: _Subject) -> Findings:
    yield from check_allowances(subject.graph, subject.allowances)


def _check_columns(subject: _Subject) -> Findings:
    """Report columns that are needed but missing according to the document, and those that no row has had so far."""
    arriving = known_columns(subject.graph, subject.sources)
    for node in subject.draft.nodes:
        for name, pointer, columns in _reads(node, arriving[node.at]):
            yield from _check_column(name, pointer, columns, "The rows", subject.document)
        yield from _check_added(node, arriving[node.at])
        yield from check_types(node, arriving[node.at])
        yield from check_united_columns(node, subject.graph, arriving, subject.sources)
        for join in joins_of(node, subject.graph, arriving, subject.sources):
            yield from check_join_columns(join)
            for name, pointer in join.reads():
                rows = f"The rows of {join.op.with_}"
                yield from _check_column(name, pointer, join.reference, rows, subject.document)


def _check_added(node: DraftNode, columns: Columns) -> Findings:
    """Check that columns added by ops do not exist before, as far as the document determines it."""
    for name, pointer, before in node.spec.adds(node.at, columns) if isinstance(node.spec, Transform) else ():
        if before.has(name):
            yield diagnose("column.repeated", pointer, f"The rows already have a column {shown(name)}.")


def _check_column(name: str, at: Pointer, columns: Columns, rows: str, document: Any) -> Findings:
    spend(5 + len(columns.present) // 10)
    if columns.has(name) is False:
        message = f"{rows} have no column {shown(name)} here."
        yield _missing("column.unknown", name, at, columns.present, message, document)
    elif columns.was_seen(name) is False:
        message = f"The newest file has no column {shown(name)}."
        known = (*columns.present, *(columns.seen or ()))
        yield _missing("column.not_seen", name, at, known, message, document)


def _reads(node: DraftNode, columns: Columns) -> Iterator[tuple[str, Pointer, Columns]]:
    """Yield the columns that a node needs. For a node that is invalid or lacks fields, those that its valid parts
    need."""
    reported = set()
    for read in node.spec.reads(node.at, columns) if node.spec is not None else ():
        reported.add(read[1])
        yield read
    ops = {part.at: part.spec for part in node.parts if isinstance(part.spec, Op)}
    for i in range(max((int(pointer[-1]) for pointer in ops), default=-1) + 1):
        op = ops.get(node.at / "ops" / i)
        if op is not None:
            yield from ((name, at, columns) for name, at in op.reads(node.at / "ops" / i) if at not in reported)
        columns = op.columns_after(columns) if op is not None else Columns()
    for part in node.parts:
        if isinstance(part.spec, RowRule | Check):
            yield from ((name, at, columns) for name, at in part.spec.reads(part.at) if at not in reported)


def _missing(code: str, name: str, at: Pointer, known: Sequence[str], message: str, document: Any) -> Diagnostic:
    near = guess(name, known)
    if near is None:
        return diagnose(code, at, message)
    fixed = _with_column(value_at(document, at), name, near) if at[-1] != name else None
    fixes = [[{"op": "replace", "path": str(at), "value": fixed}]] if fixed else []
    return diagnose(code, at, message, hint=f"Did you mean {shown(near)}?", fixes=fixes)


def _with_column(written: Any, name: str, near: str) -> str | None:
    """Return the text that names a column, alone or in an expression, with another column instead."""
    if written == name:
        return near if near.isidentifier() else None  # other names need backticks in an expression
    try:
        return rename_column(written, name, near) if isinstance(written, str) else None
    except ExpressionError:
        return None


def _check_order(subject: _Subject) -> Findings:
    """Check that rows without an order have a column that determines the last one."""
    for node in subject.draft.nodes:
        head = subject.graph.source_of(node)
        if isinstance(node.spec, Transform) and head is not None and isinstance(head.spec, Source):
            connector = CONNECTORS.get(head.spec.connector)
            for i, op in enumerate(node.spec.ops):
                if isinstance(op, Deduplicate) and op.order_by is None and connector and not connector.keeps_order:
                    message = f"The rows of {head.id} have no order, so no row of a key is the last."
                    yield diagnose("deduplicate.order_required", node.at / "ops" / i / "orderBy", message)


def _check_empty(subject: _Subject) -> Findings:
    """Warn about empty texts: in files they usually mean NULL; in a database they are intended."""
    for node in subject.draft.nodes:
        if not isinstance(node.spec, Target) or "empty_as_null" in node.spec.model_fields_set:
            continue
        keeping = next((head for head in subject.graph.sources_of(node) if _keeps_empty(head)), None)
        if keeping is not None:
            pointer = node.at / "emptyAsNull"
            fix = [{"op": "add", "path": str(pointer), "value": False}]
            message = f"Empty texts of {keeping.id} become NULL in columns that may be NULL."
            yield diagnose("target.empty_becomes_null", pointer, message, fixes=[fix])


def _keeps_empty(head: DraftNode) -> bool:
    connector = CONNECTORS.get(head.spec.connector) if isinstance(head.spec, Source) else None
    return connector is not None and connector.keeps_empty


def _check_targets(subject: _Subject) -> Findings:
    yield from check_targets(subject.graph, subject.destinations, subject.streaming)


def _check_support(subject: _Subject) -> Findings:
    yield from check_support(subject.draft, subject.graph)


def _check_repeated_rows(subject: _Subject) -> Findings:
    yield from check_repeated_rows(subject.graph)


def _check_changes(subject: _Subject) -> Findings:
    yield from check_changes(subject.graph)


def _check_windows(subject: _Subject) -> Findings:
    yield from check_windows(subject.graph)


def _check_aggregates(subject: _Subject) -> Findings:
    yield from check_aggregates(subject.graph)


def _check_explodes(subject: _Subject) -> Findings:
    yield from check_explodes(subject.graph)


def _check_column_changes(subject: _Subject) -> Findings:
    yield from check_column_changes(subject.graph)


def _check_customs(subject: _Subject) -> Findings:
    yield from check_customs(subject.graph)


RULES: tuple[Callable[[_Subject], Findings], ...] = (
    _check_schedule,
    _check_graph,
    _check_joins,
    _check_unions,
    _check_branches,
    _check_parts,
    _check_kinds,
    _check_queries,
    _check_columns,
    _check_order,
    _check_empty,
    _check_repeated_rows,
    _check_changes,
    _check_windows,
    _check_aggregates,
    _check_explodes,
    _check_customs,
    _check_column_changes,
    _check_targets,
    _check_support,
    _check_backfill,
)
