"""Decides whether a staged load continues, or waits for a person's approval."""

from __future__ import annotations

from collections.abc import Mapping

from executors import accounting
from executors.commit_report import add_warnings, check_warnings, put_counts, warn_of_counts
from executors.destinations.base import Reevaluation
from executors.effects import Effect, NullRates
from executors.errors import InvalidContent
from executors.holding import Evaluation, Held, Reason, StagedLoad, check_hold_limits, not_approved
from executors.report import TargetCounts
from executors.runs.state import LoadState
from ir.load_modes import load_mode
from ir.nodes import Target


def guard_empty(state: LoadState) -> LoadState:
    """Prevent an empty source from clearing the table. The rows are those that the tasks reported, because a staging
    that has lost its rows does not mean an empty source."""
    target = state.target
    if load_mode(target.load_mode).replaces_all_rows and target.fail_on_empty_source:
        _refuse_empty_source(state)
    staged, elsewhere, grouped = state.result.total("rows_staged"), state.rows_elsewhere, state.rows_grouped
    if staged or not load_mode(target.load_mode).replaces_all_rows or not target.fail_on_empty_source:
        return state
    raise InvalidContent(
        "source.empty",
        f"No row is left to replace the rows of {target.schema_}.{target.table}: {state.rows_read:,} read, "
        f"{state.rows_filtered:,} filtered, {state.rows_rejected:,} rejected"
        f"{f', {elsewhere:,} to other branches' if elsewhere else ''}"
        f"{f', {grouped:,} into groups' if grouped else ''}. The table was not changed.",
        node=target.id,
        hint="If an empty source may clear the table, set failOnEmptySource to false on this target.",
    )


def _refuse_empty_source(state: LoadState) -> None:
    """Raise InvalidContent if no row of one of several sources is left: its rows in the table would be gone."""
    target = state.target
    for path in state.load.paths if state.load.is_united else ():
        part = state.result.of(path.source.id)
        if not part.total("rows_staged"):
            read, rejected = accounting.rows_read(part), part.total("rows_rejected")
            raise InvalidContent(
                "source.empty",
                f"No row of {path.source.id} is left to replace the rows of {target.schema_}.{target.table}: {read:,} "
                f"read, {rejected:,} rejected, the others filtered. The table was not changed.",
                node=path.source.id,
                hint="If a source without rows may remove its rows from the table, set failOnEmptySource to false on "
                "this target.",
            )


def has_hold_limits(state: LoadState) -> bool:
    return state.target.hold is not None


def hold_beyond_limits(state: LoadState) -> LoadState:
    """Stop a load that exceeds the target's limits before it has any effect, so that a person decides."""
    _hold_if(state, *state.load.handler.measure(state))
    return state


def reevaluation(state: LoadState) -> Reevaluation | None:
    """Return the same check for the locked table, which may have changed since, for example during a pre-hook. A load
    mode that replaces all rows locks out writers anyway; for other modes the lock is justified only if a person
    approved these exact results."""

    def hold_again(effect: Effect, null_rates: Mapping[str, NullRates]) -> None:
        _hold_if(state, effect, null_rates)

    replaces = load_mode(state.target.load_mode).replaces_all_rows
    is_evaluated = state.load.approved is not None or (state.target.hold is not None and replaces)
    return hold_again if is_evaluated else None


def reasons_to_hold(target: Target, effect: Effect, null_rates: Mapping[str, NullRates]) -> list[Reason]:
    return check_hold_limits(target.hold, effect, null_rates) if target.hold else []


def _hold_if(state: LoadState, effect: Effect, null_rates: Mapping[str, NullRates]) -> None:
    reasons, approved = reasons_to_hold(state.target, effect, null_rates), state.load.approved
    evaluation = Evaluation.of(reasons, effect)
    if held_for := not_approved(approved.evaluation, evaluation) if approved else reasons:
        _share_staged(state)
        raise Held(state.target.id, held_for, effect, _staged_load(state, evaluation))


def _share_staged(state: LoadState) -> None:
    """Add the counts of a held load to the report."""
    report = state.load.report
    nodes = accounting.reports_of(state.load.paths, state.rows_read, state.result)
    put_counts(report, state.target.id, TargetCounts(state.load.reading.identities, nodes, list(state.rules)))
    warn_of_counts(report)
    report.checks += state.check_reports
    add_warnings(report, check_warnings(state.check_reports))


def _staged_load(state: LoadState, evaluation: Evaluation) -> StagedLoad:
    load = state.load
    return StagedLoad(
        attempt=load.staged_in,
        working=load.fields,
        columns=load.columns,
        origins=tuple((origin.seq, origin.name, origin.sha256, origin.source) for origin in load.reading.origins),
        units=load.reading.units,
        records=state.rows_read,
        result=state.result,
        checks=state.check_reports,
        skipped=state.skipped,
        evaluation=evaluation,
        watermark=load.handler.watermark_version(state),
        changes=load.changes,
        states={origin.source: origin.state for origin in load.reading.origins if origin.state is not None},
    )
