"""The one pass: probes the target, then reads, validates and stages all rows."""

from __future__ import annotations

from dataclasses import replace

from executors import accounting
from executors.backfill.pacing import PacedStagingArea
from executors.errors import ExpressionFailed
from executors.model import PassResult, RulePlan
from executors.runs.state import Head, Load, LoadState
from executors.runs.steps.rules import share_counts
from ir.rules import rule_id


def probe_quarantine(state: LoadState) -> LoadState:
    """Refuse quarantine tables that cannot store the rejected rows, before anything is read."""
    state.load.handler.probe_quarantine(state.load)
    return state


def probe_checks(state: LoadState) -> LoadState:
    """Refuse checks that cannot run on the rows that will be staged."""
    state.load.handler.probe_checks(state)
    return state


def create_staging(state: LoadState) -> LoadState:
    state.load.handler.create_staging(state.load)
    return replace(state, has_staging=True)


def stage_rows(state: LoadState) -> LoadState:
    """Read, transform, validate and stage the rows of each path. If an expression fails for a row, keep the failure
    with the counts of the rows staged until then."""
    for head in state.load.heads:
        try:
            result = _stage(state.load, head)
        except ExpressionFailed as failure:
            state = replace(state, result=_together(state.result, failure.staged or PassResult(())))
            # Rules that have not evaluated all rows have no valid count: planned rules without violations are omitted.
            rules = tuple(rule for task in state.result.tasks for rule in task.rules)
            return replace(state, expression_failure=failure, rules=rules)
        state = replace(state, result=_together(state.result, result))
    return state


def _stage(load: Load, head: Head) -> PassResult:
    from executors.spark.one_pass import PassPlan, run_pass

    source = head.path.source.id if load.is_united else ""
    plan = PassPlan(
        path=head.path,
        reading=head.reading,
        compiled=head.compiled,
        stage_columns=load.columns,
        rules=tuple(RulePlan(v.id, rule_id(rule), rule) for v in head.path.validates for rule in v.row_level),
        on_type_mismatch=load.target.on_type_mismatch,
        run_id=load.context.job.run_id,
        charset=load.charset,
        now=load.now,
        is_united=load.is_united,
    )
    area, writes = load.handler.staging_area(load), load.context.ports.writes
    if writes is not None:
        area = PacedStagingArea(area, writes.rows_per_second / max(len(head.reading.parts), 1))
    result = run_pass(load.context.session, plan, area)
    return replace(result, tasks=tuple(replace(task, source=source) for task in result.tasks))


def _together(one: PassResult, other: PassResult) -> PassResult:
    return PassResult((*one.tasks, *other.tasks), {**one.references, **other.references})


def stop_on_failed_expression(state: LoadState) -> LoadState:
    failure = state.expression_failure
    if failure is None:
        return state
    if failure.staged is not None:
        share_counts(state)
    raise failure


def require_all_arrived(state: LoadState) -> LoadState:
    """Release the source and the references, and count the rows that were read. Raises Terminal `rows.lost`."""
    load, result = state.load, state.result
    load.reading.release_all()
    read = [
        accounting.require_all_arrived(
            head.path, head.reading, result.of(head.path.source.id) if load.is_united else result
        )
        for head in load.heads
    ]
    return replace(state, rows_read=sum(read) + state.beside_rows)
