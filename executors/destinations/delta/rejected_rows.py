"""Fixes and replays the rejected rows of Delta tables. Their entries are in a PostgreSQL database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from executors.delta.commit import commit_load
from executors.delta.effects import find_conflicts
from executors.delta.matching import find_taken
from executors.delta.plan import DeltaPlan
from executors.delta.staged import count_at, read_positions
from executors.destinations.delta.opening import DeltaTarget
from executors.destinations.delta.plan import commit_of, plan_of, rejects_of, staged_rejects
from executors.destinations.delta.rejects import RejectStore, Replayed
from executors.destinations.postgres.rejected_rows import PostgresRejectedRows, owner_of
from executors.destinations.postgres.staging import tables_of
from executors.errors import Terminal
from executors.load_record import LoadCommit, LoadCounts, LoadKind
from executors.model import Connection, RunJob, TaskCount
from executors.postgres.client import translate
from executors.postgres.ddl import Conn
from executors.postgres.refused_elsewhere import refuse_positions, refused_positions
from executors.postgres.replay import NEWER, TAKEN, outcomes_of
from executors.rejected_rows import RowOutcome, RowPosition, RowResult
from executors.runs.state import Load, LoadState
from executors.runs.target_run import TargetRun


class DeltaRejectedRows(PostgresRejectedRows):
    def session(self, target: TargetRun) -> Conn:
        return _store_of(target).session

    def connection(self, job: RunJob, target: TargetRun) -> Connection:
        return _store_of(target).connection

    def refuse_read_later(self, state: LoadState) -> TaskCount | None:
        raise _no_watermark(state.target.id)

    def find_range_to_leave(self, load: Load) -> Any:
        raise _no_watermark(load.target.id)

    def find_conflicts(self, state: LoadState) -> Mapping[RowPosition, Mapping[str, Any]]:
        return find_conflicts(replay_plan_of(state), _opened(state).table)

    def refuse_taken_keys(self, state: LoadState) -> TaskCount:
        plan, opened = replay_plan_of(state), _opened(state)
        taken = find_taken(plan, opened.table) if opened.table is not None else {}
        ticked = state.load.rejected_rows.may_replace
        refused = {
            (NEWER, f"already exists in the table, with a higher {plan.order_by}"): [
                at for at, newer in taken.items() if newer
            ],
            (TAKEN, "already exists in the table, with other values"): [
                at for at, newer in taken.items() if not newer and at not in ticked
            ],
        }
        rows = count_at(plan, {at for positions in refused.values() for at in positions})
        session, field = _rejects(state).session, ", ".join(plan.key)
        return refuse_positions(session, tables_of(state.load), plan.winners, plan.run.node, field, refused, rows)

    def evaluate(self, state: LoadState) -> Mapping[RowPosition, RowOutcome]:
        rows, good = state.load.rejected_rows.choice.rows, read_positions(replay_plan_of(state))
        with translate(state.target.id):
            return outcomes_of(_rejects(state).session, tables_of(state.load), state.result.winners, rows, good)

    def commit(self, state: LoadState) -> LoadCommit:
        rows, rejects, plan = state.load.rejected_rows, _rejects(state), replay_plan_of(state)
        outcomes, choice = self.evaluate(state), rows.choice
        evaluated = [RowResult.of(choice.rows[at].row, v.result, v.rules) for at, v in outcomes.items()]
        results = [*evaluated, *choice.excluded]
        loaded = [choice.rows[at].row for at, v in outcomes.items() if v.result == "loaded"]
        tables = tuple(dict.fromkeys((*(table.written for table in choice.tables), *state.load.quarantine.values())))
        replayed = Replayed(owner_of(state.load.context.job), loaded, tuple(choice.tables), results)
        stored = rejects.store_replay(plan.run, staged_rejects(state), replayed)
        counts = Counter(one.result for one in results)
        marker = commit_load(
            replace(plan, by=rows.ref.by, reason=rows.ref.reason),
            partial(_replay_commit, state, tables, counts, stored),
        )
        return rejects.settle(plan.run, marker, state.target.connection)


def _replay_commit(
    state: LoadState, tables: tuple[str, ...], results: Mapping[str, int], stored: tuple[int, int], counts: LoadCounts
) -> LoadCommit:
    commit = commit_of(state, counts, quarantined=stored)
    record = replace(commit.record, row_results=dict(results))
    return replace(commit, kind=LoadKind.REPLAY, reject_tables=tables, record=record)


def replay_plan_of(state: LoadState) -> DeltaPlan:
    """Return the plan of a replay, without the rows that were refused after the pass."""
    rows = state.load.rejected_rows
    excluded = refused_positions(_rejects(state).session, tables_of(state.load))
    return replace(plan_of(state), excluded=excluded, may_replace=rows.may_replace)


def _opened(state: LoadState) -> DeltaTarget:
    opened: DeltaTarget = state.load.connection
    return opened


def _rejects(state: LoadState) -> RejectStore:
    rejects = rejects_of(state.load)
    if rejects is None:
        raise _no_quarantine(state.target.id)
    return rejects


def _store_of(target: TargetRun) -> RejectStore:
    opened: DeltaTarget = target.connection
    if opened.rejects is None:
        raise _no_quarantine(target.path.target.id)
    return opened.rejects


def _no_quarantine(node: str) -> Terminal:
    return Terminal(
        "replay.no_quarantine",
        "The newest version of the pipeline stores no rejected rows, so it names no database in which they are.",
        node=node,
        hint="Enable the quarantine of the validate node again, with the connection of that database.",
    )


def _no_watermark(node: str) -> Terminal:
    return Terminal("destination.not_supported", "Delta tables have no watermark.", node=node)
