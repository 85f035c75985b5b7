"""Whether a staged load may go on by itself, or waits for a person's approval."""

from __future__ import annotations

from collections.abc import Mapping

from executors import accounting
from executors.commit_report import add_warnings, check_warnings, put_counts, warn_of_counts
from executors.destinations.base import Reevaluation
from executors.effects import Effect, NullRates
from executors.errors import InvalidContent
from executors.holding import Evaluation, Held, Reason, StagedLoad, check_hold_limits, not_approved
from executors.model import TargetCounts
from executors.runs.state import LoadState
from ir.load_modes import load_mode
from ir.nodes import Target


def guard_empty(state: LoadState) -> LoadState:
    """Keep an empty source from clearing the table. Rows are counted as the tasks reported them: a staging that lost
    its rows is not an empty source."""
    target = state.target
    staged, elsewhere = state.result.total("rows_staged"), state.rows_elsewhere
    if staged or not load_mode(target.load_mode).replaces_all_rows or not target.fail_on_empty_source:
        return state
    raise InvalidContent(
        "source.empty",
        f"No row is left to replace {target.schema_}.{target.table} with: {state.rows_read:,} read, "
        f"{state.rows_filtered:,} filtered, {state.rows_rejected:,} rejected"
        f"{f', {elsewhere:,} to other branches' if elsewhere else ''}. The table is as it was.",
        node=target.id,
        hint="If an empty source may clear the table, set failOnEmptySource to false on this target.",
    )


def has_hold_limits(state: LoadState) -> bool:
    return state.target.hold is not None


def hold_beyond_limits(state: LoadState) -> LoadState:
    """Stop a load that goes beyond the target's limits, before anything else knows of it: a person decides."""
    _hold_if(state, *state.load.handler.measure(state))
    return state


def reevaluation(state: LoadState) -> Reevaluation | None:
    """The same once more when the load has locked the table, which may have changed until then, as while a pre-hook
    ran. A mode that replaces all rows holds writers off in any case; for others it is not worth that, unless a person
    has approved what was found."""

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
    """Return what is known about a load that is held."""
    report = state.load.report
    nodes = accounting.node_reports(state.load.path, state.rows_read, state.result)
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
        origins=tuple((origin.seq, origin.name, origin.sha256) for origin in load.reading.origins),
        units=load.reading.units,
        records=state.rows_read,
        result=state.result,
        checks=state.check_reports,
        skipped=state.skipped,
        evaluation=evaluation,
        watermark=load.handler.watermark_version(state),
    )
