"""Request runs over rejected rows: replays, checks without a load, and fixes by expression."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from uuid import UUID

from django.db import transaction

from executors.api import require_replayable
from executors.errors import Terminal
from executors.target_database import RejectedRow
from flowapp.pipelines.documents import read_document
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.selectors import get_version
from flowapp.quarantine.deciding import Part, reach_parts, require_single_rows
from flowapp.quarantine.job_rows import FileHash, JobRows, TableRows
from flowapp.quarantine.models import RowJob, Selection
from flowapp.quarantine.records import note_decision
from flowapp.quarantine.selectors import runs_here
from flowapp.runs.holds import Decider
from flowapp.runs.load_units.models import LoadUnit, UnitState
from flowapp.runs.models import Run, RunKind, Trigger
from flowapp.runs.run_kinds import spec_of
from flowapp.runs.services import queue_for
from ir.errors import FlowError
from ir.expressions import ExpressionError, parse_expression
from ir.load_modes import load_mode
from ir.quarantines import rejects_connection

ALL = "all"
"""For `overwrite`: every row may replace the target row with its key."""


@dataclass(slots=True)
class _Group:
    """Rows that one run can process: rows of one target in one form."""

    tables: dict[tuple[str, str], list[RejectedRow]] = field(default_factory=lambda: defaultdict(list))
    rows: list[RejectedRow] = field(default_factory=list)
    connections: set[str] = field(default_factory=set)


def ask_for_runs(
    kind: RunKind,
    selection: Selection,
    trigger: Trigger,
    by: Decider,
    *,
    reason: str = "",
    overwrite: Collection[str] | str = (),
    column: str = "",
    expression: str = "",
    replace_typed: bool = False,
    send: bool = True,
) -> list[Run]:
    """Request a run of the newest version for each target and form of the selected rows. Raises FlowError, and Failure
    if a database does not respond.

    `overwrite` are the keys of rows that may replace target rows with the same key, or `all`. `replace_typed` means
    that an expression may replace manually entered values."""
    pipeline, spec = selection.pipeline, spec_of(kind)
    if spec.fixes:
        _require_expression(column, expression)
    groups = _group(selection)
    _require_targets(pipeline, groups, loads=not spec.fixes)
    runs = []
    with transaction.atomic():
        for (node, row_from), group in groups.items():
            run = queue_for(kind, pipeline, trigger, user=by.user, send=send)
            RowJob.objects.create(
                workspace_id=run.workspace_id,
                run=run,
                node=node,
                row_from=row_from,
                column=column,
                expression=expression,
                replaces_typed=replace_typed,
                by_words=by.words[:300],
                reason=reason.strip()[:2000],
                selection=selection.pk,
                rows=_rows_of(pipeline, group, column if spec.fixes else "", overwrite).to_json(),
            )
            if not spec.changes_nothing:
                note_decision(
                    selection.workspace,
                    pipeline,
                    kind,
                    by,
                    rows=len(group.rows),
                    reason=reason,
                    run=run,
                    details={"filters": selection.filters, **({"fields": [column]} if column else {})},
                )
            runs.append(run)
    return runs


def replay_notes(pipeline: Pipeline, nodes: Collection[str]) -> list[str]:
    """Return notes about these targets that users should read before a replay."""
    notes = []
    document = read_document(get_version(pipeline).document)
    for target in document.targets():
        mode = load_mode(target.load_mode)
        table = f"{target.schema_}.{target.table}"
        if target.id not in nodes:
            continue
        try:
            for path in document.paths_to(target):
                require_replayable(path, "source")
        except Terminal as refused:
            notes.append(f"These rows cannot be replayed. {refused.message} {refused.hint}")
            continue
        if mode.replaces_all_rows:
            notes.append(
                f"{table} is replaced completely by each run that loads something. Replayed rows stay only until the "
                "next run."
            )
        if mode.needs_key:
            notes.append(
                f"Newer rows of {table} with the same key stay, unless you select the rows to replace after a check."
            )
        if mode.keeps_watermark:
            notes.append(f"Rows are added to {table}. The watermark does not change.")
    return notes


def _require_expression(column: str, expression: str) -> None:
    if not column or not expression.strip():
        raise FlowError("fix.incomplete", "Enter a field and an expression.", hint="Example: trim(name).")
    try:
        parse_expression(expression)
    except ExpressionError as error:
        raise FlowError(error.code, error.message, hint=error.hint) from error


def _require_targets(pipeline: Pipeline, groups: dict[tuple[str, str], _Group], *, loads: bool) -> None:
    """Require that the newest version has the targets. `loads` means that the rows are loaded, or validated as for a
    load."""
    document = read_document(get_version(pipeline).document)
    targets = {t.id: t for t in document.targets()}
    for (node, row_from), group in groups.items():
        target = targets.get(node)
        if target is None:
            raise _elsewhere(node, group.connections, "has no such target")
        database = rejects_connection(document, target)
        if others := group.connections - {database}:
            now = f"stores them over {database!r}" if database else "does not store them"
            raise _elsewhere(node, others, now)
        if loads:
            for path in document.paths_to(target):
                require_replayable(path, row_from)
        else:
            require_single_rows([row_from])


def _elsewhere(node: str, connections: Collection[str], now: str) -> FlowError:
    names = ", ".join(map(repr, sorted(connections)))
    return FlowError(
        "replay.elsewhere",
        f"These rows of {node!r} are stored over {names}; the newest version {now}.",
        hint="Restore that target and its quarantine in the pipeline, or ignore the rows.",
    )


def _group(selection: Selection) -> dict[tuple[str, str], _Group]:
    groups: dict[tuple[str, str], _Group] = defaultdict(_Group)
    for part in reach_parts(selection):
        _sort_in(part, groups)
    if not groups:
        raise FlowError("errors.no_rows", "None of the selected rows exists any more.", hint="Select rows again.")
    return dict(groups)


def _sort_in(part: Part, groups: dict[tuple[str, str], _Group]) -> None:
    for row in part.rows:
        group = groups[row.node, row.row_from]
        group.tables[part.table.schema, part.table.table].append(row)
        group.rows.append(row)
        group.connections.add(part.connection)


def _allowed(group: _Group, overwrite: Collection[str] | str) -> list[str]:
    names = [row.name for row in group.rows]
    return names if overwrite == ALL else sorted(set(names) & set(overwrite))


def _rows_of(pipeline: Pipeline, group: _Group, column: str, overwrite: Collection[str] | str) -> JobRows:
    """Return the input of a run over a group. A fix also gets the revisions of its rows: if it is requested twice, the
    second run finds the rows changed and skips them."""
    return JobRows(
        tables=tuple(
            TableRows(
                schema,
                table,
                tuple(row.id for row in rows),
                tuple(row.revision for row in rows) if column else (),
            )
            for (schema, table), rows in group.tables.items()
        ),
        overwrite=tuple(_allowed(group, overwrite)),
        hashes=tuple(_hashes(pipeline, group.rows)),
        computed_by=tuple(_computed_by(pipeline, column, group)) if column else (),
    )


def _computed_by(pipeline: Pipeline, column: str, group: _Group) -> list[str]:
    """Return the runs that computed the column of these rows before. Other differences from the source were entered
    manually."""
    runs = runs_here(pipeline.workspace, {row.fix_run for row in group.rows if row.fix_run})
    before = RowJob.objects.filter(run__in=map(UUID, runs), column=column).values_list("run_id", flat=True)
    return [str(run) for run in before]


def _hashes(pipeline: Pipeline, rows: list[RejectedRow]) -> list[FileHash]:
    """Return the SHA-256 of the rows' files, if exactly one file of that name was loaded."""
    names = {row.source_file for row in rows if row.source_file}
    found: dict[str, set[str]] = defaultdict(set)
    units = LoadUnit.objects.filter(pipeline=pipeline, name__in=names).exclude(state=UnitState.SKIPPED)
    for name, sha256 in units.values_list("name", "sha256"):
        found[name].add(sha256)
    pairs = {(row.run_id, row.source_file) for row in rows if row.source_file and len(found[row.source_file]) == 1}
    return [FileHash(run, name, next(iter(found[name]))) for run, name in sorted(pairs)]
