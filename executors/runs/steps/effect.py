"""Counts what a load would change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from executors import accounting
from executors.commit_report import (
    add_warnings,
    ahead_warnings,
    below_warnings,
    check_warnings,
    known_warnings,
    older_warnings,
    put_counts,
    warn_of_counts,
)
from executors.effects import Effect
from executors.report import NodeReport, RunWarning, TargetCounts
from executors.runs.state import LoadState
from executors.runs.steps.hold import reasons_to_hold


def count_effect(state: LoadState) -> LoadState:
    """Count what the load would change, and report it in the form of a load's report."""
    target, handler = state.target, state.load.handler
    if state.on_refused == "abort":
        handler.refuse_repeats(state)
    effect, null_rates = handler.measure(state)
    reasons = reasons_to_hold(target, effect, null_rates)
    _report(state, effect)
    table = f"{target.schema_}.{target.table}"
    held_for = tuple(reason.message for reason in reasons)
    named = replace(
        effect,
        table=table,
        is_new_table=effect.is_new_table or f"{state.load.dest.schema}.{state.load.dest.table}" != table,
        held_for=held_for,
    )
    return replace(state, effect=named)


def _report(state: LoadState, effect: Effect) -> None:
    load, report, node = state.load, state.load.report, state.target.id
    nodes = accounting.reports_of(load.paths, state.rows_read, state.result)
    counts: dict[str, Any] = {
        **state.node_counts,
        **effect.node_fields(),
        "rows_staged": state.result.total("rows_staged"),
    }
    target_count = TargetCounts(
        load.reading.identities, [*nodes, NodeReport(node, "target", **counts)], list(state.rules)
    )
    put_counts(report, node, target_count)
    warn_of_counts(report)
    skipped = state.skipped
    warnings = [
        *check_warnings(state.check_reports),
        *older_warnings(node, effect.older),
        *known_warnings(node, skipped.differing, skipped.doubtful),
        *ahead_warnings(node, effect.ahead),
        *below_warnings(node, skipped.below_bound, load.reading.units),
    ]
    add_warnings(report, warnings)
    if load.dest.row_triggers:
        add_warnings(report, [_triggers(node)])


def _triggers(node: str) -> RunWarning:
    return RunWarning(
        "preview.row_triggers", node, "The table has row triggers. A preview cannot predict which rows they change."
    )
