"""Adds up the counts of rules, and stops a load that violates their limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from executors import accounting
from executors.commit_report import put_counts
from executors.errors import Terminal
from executors.rejected_limit import files_rejected, too_many_rejected
from executors.report import NodeReport, TargetCounts
from executors.runs.state import LoadState

_OF_LOADS = (
    "rows_inserted",
    "rows_updated",
    "rows_unchanged",
    "rows_deleted",
    "rows_replaced",
    "rows_behind_mark",
    "rows_suppressed",
)


def count_rules(state: LoadState) -> LoadState:
    """Count every rule and put the counts into the report."""
    state = with_rules(state)
    share_counts(state)
    return state


def with_rules(state: LoadState) -> LoadState:
    """Return the state with the counts of all rules, including those without violations."""
    found = [rule for task in state.result.tasks for rule in task.rules]
    return replace(state, rules=tuple(accounting.merge_rules(accounting.planned_rules(state.load.path), found)))


def share_counts(state: LoadState) -> None:
    """Add the current counts of rules to the report."""
    target_count = TargetCounts(state.load.reading.identities, rules=list(state.rules))
    put_counts(state.load.report, state.target.id, target_count)


def stop_on_rules(state: LoadState) -> LoadState:
    """Stop if settings of the source explain why every row was rejected, or if a rule ends the run."""
    reading = state.load.reading
    fails = state.is_all_rejected and state.load.max_rejected_pct
    if fails and (mismatches := reading.find_mismatches(reading.origins)):
        raise too_many(state, mismatches)
    accounting.stop_on_abort(state.load.path, state.rules, {origin.seq: origin.name for origin in reading.origins})
    return state


def stop_on_rejected_rows(state: LoadState) -> LoadState:
    """Stop a load that rejects too many rows: by default a load without any accepted row."""
    limit, rejected = state.load.max_rejected_pct, state.rows_rejected
    for some, of in state.rejected_shares:
        if limit and some and 100 * some >= limit * of:
            raise too_many(state, (), (some, of))
    if limit and rejected and len(state.load.reading.origins) > 1:
        _stop_on_rejected_files(state)
    if limit and rejected and state.load.is_united:
        _stop_on_rejected_source(state, limit)
    return state


def _stop_on_rejected_source(state: LoadState, limit: float) -> None:
    """Stop a load that rejects too many rows of one of several sources: it would count as loaded with the others."""
    by_file = state.load.handler.count_rejected_by_file(state)
    for path in state.load.paths:
        part = state.result.of(path.source.id)
        rows = accounting.rows_read(part) - part.at_nodes("filtered_at").total()
        seqs = [origin.seq for origin in state.load.reading.origins if origin.source == path.source.id]
        rejected = sum(by_file.get(seq, 0) for seq in seqs)
        if rejected and 100 * rejected >= limit * rows:
            raise too_many(state, (), (rejected, rows))


def _stop_on_rejected_files(state: LoadState) -> None:
    """Stop a load with a file whose rows were all rejected because the source's settings do not fit: it would count as
    loaded together with the other files."""
    load = state.load
    rejected = load.handler.count_rejected_by_file(state)
    lost = [o for o in load.reading.origins if o.records and rejected.get(o.seq) == o.records]
    if lost and (mismatches := load.reading.find_mismatches(lost)):
        _share_stopped(state)
        raise files_rejected(load.target, [(o.name, o.records or 0) for o in lost], mismatches)


def too_many(state: LoadState, mismatches: Sequence[str], share: tuple[int, int] | None = None) -> Terminal:
    """Return the failure of a load that rejects too many rows. The file does not count as failed and is not moved,
    because the source's settings may be wrong. `share` is (rejected, total); without it all rows count."""
    _share_stopped(state)
    rejected, rows = share or (state.rows_rejected, state.rows_unfiltered)
    return too_many_rejected(state.target, rows, rejected, state.rules, mismatches)


def _share_stopped(state: LoadState) -> None:
    """Add the counts of a stopped load to the report, including those of the target if they are complete."""
    nodes = accounting.reports_of(state.load.paths, state.rows_read, state.result)
    if state.is_all_rejected:
        none: dict[str, Any] = dict.fromkeys(("rows_staged", "rows_loaded", *_OF_LOADS), 0)
        nodes.append(NodeReport(state.target.id, "target", **{**none, **state.node_counts}))
    target_count = TargetCounts(state.load.reading.identities, nodes, list(state.rules))
    put_counts(state.load.report, state.target.id, target_count)
