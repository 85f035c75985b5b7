"""The input of runs over rejected rows, and the records of decisions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import F

from executors.model import RowsRef
from flowapp.accounts.models import Workspace
from flowapp.clock import Now
from flowapp.pipelines.models import Pipeline
from flowapp.quarantine.models import RowDecision, RowJob
from flowapp.runs.models import Run

BECAME, BROKE_OFF, LEFT = "became", "brokeOff", "left"
"""Keys of a decision's details that are set later: the result counts of its run, that an export or a purge ended early,
and the tables that a purge has not finished, each with the last entry read."""


def rows_of(run: Run) -> RowsRef | None:
    """Return the rejected rows that a run processes; None if it is no such run."""
    job = RowJob.objects.filter(run=run).first()
    if job is None:
        return None
    rows = job.job_rows
    return RowsRef(
        node=job.node,
        row_from=job.row_from,
        tables=[(of.schema, of.table, of.entries) for of in rows.tables],
        overwrite=frozenset(rows.overwrite),
        hashes={(of.run_id, of.name): of.sha256 for of in rows.hashes},
        column=job.column,
        expression=job.expression,
        by=job.by_words,
        reason=job.reason,
        revisions=[of.revisions for of in rows.tables] if job.column else (),
        replaces_typed=job.replaces_typed,
        computed_by=frozenset(rows.computed_by),
    )


def note_decision(
    workspace: Workspace,
    pipeline: Pipeline | None,
    action: str,
    by: Any,
    *,
    rows: int,
    reason: str = "",
    excluded: int = 0,
    run: Run | None = None,
    details: dict[str, Any] | None = None,
) -> RowDecision:
    """Record a decision, with names and numbers only. `by` is a `Decider`."""
    return RowDecision.objects.create(
        workspace=workspace,
        pipeline=pipeline,
        run=run,
        action=action,
        at=Now(),
        by=by.user,
        by_words=by.words[:300],
        reason=reason[:2000],
        rows=rows,
        excluded=excluded,
        details=details or {},
    )


def note_results(run: Run, counts: Mapping[str, int]) -> None:
    """Add the result counts of a run to its decision."""
    for decision in RowDecision.objects.filter(run=run):
        decision.details = {**decision.details, BECAME: dict(counts)}
        decision.save(update_fields=["details"])


def note_sent(decision: RowDecision, rows: int, *, is_whole: bool) -> None:
    """Record the number of exported entries, and whether the export is complete."""
    decision.rows = rows
    decision.details = {**decision.details, **({} if is_whole else {BROKE_OFF: True})}
    decision.save(update_fields=["rows", "details"])


def note_purged(decision: RowDecision, rows: int, details: dict[str, Any]) -> None:
    """Add the number of deleted entries to a purge, and store its remaining tables."""
    RowDecision.objects.filter(pk=decision.pk).update(rows=F("rows") + rows, details=details)
