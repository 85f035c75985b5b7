"""The load of rejected rows, and what stands in for it when they are only checked again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from executors.effects import Effect
from executors.errors import Terminal
from executors.model import Destination, LoadCommit, RowsRef, RunJob, RunReport, StageColumn
from executors.ports import Ports
from executors.postgres.client import translate
from executors.postgres.load import LoadFile, commit_load
from executors.postgres.load_plan import Place
from executors.postgres.meta import marker_of
from executors.postgres.names import TableName
from executors.postgres.quarantined import Owner
from executors.postgres.read_later import bounds_by_place, read_later
from executors.postgres.refusals import Refusal
from executors.postgres.refused import refuse_for
from executors.postgres.replay import ReplayCommit, Verdict, judge_places, read_conflicts, taken_keys
from executors.postgres.windows import Window, open_window
from executors.reading import Reading
from executors.rejected_rows import Choice
from executors.runs.target_run import TargetRun
from executors.spark.session import RunSession
from executors.target_load import TargetLoad
from executors.target_preview import TargetPreview
from ir.connectors import CONNECTORS
from ir.load_modes import load_mode
from ir.nodes import Target

MOST_RESULTS = 500
"""Rows whose result a check without a load tells one by one; all are counted."""


@dataclass(frozen=True, slots=True)
class RejectedRows:
    """What is loaded: `target` is the document's, of which the load's own is the adding form."""

    ref: RowsRef
    choice: Choice
    reading: Reading
    target: Target

    @property
    def keeps_mark(self) -> bool:
        return load_mode(self.target.load_mode).keeps_mark

    @property
    def allowed(self) -> frozenset[Place]:
        """Where the rows stand that may replace others."""
        return frozenset(place for place, chosen in self.choice.rows.items() if chosen.row.name in self.ref.overwrite)


class _OfRejectedRows(TargetLoad):
    """Rows whose keys are taken are kept back, unless a person has ticked them; and so are those that a later run of an
    incremental target has read again and not rejected."""

    def __init__(
        self, job: RunJob, ports: Ports, report: RunReport, session: RunSession, lane: TargetRun, rows: RejectedRows
    ) -> None:
        super().__init__(job, ports, report, session, lane.path, lane.connection, rows.reading, lane.hooks)
        self._rows = rows

    def _limits_rejected(self) -> float:
        """Rows that still fail a rule stay where they are, however many."""
        return 0

    def _refuse(self, dest: Destination, columns: tuple[StageColumn, ...]) -> None:
        super()._refuse(dest, columns)
        if self._rows.keeps_mark and not CONNECTORS[self._path.source.connector].keeps_order:
            self._keep_back_read_later(dest, columns)
        if load_mode(self._target.load_mode).needs_key:
            self._keep_back_taken(dest, columns)

    def _keep_back_read_later(self, dest: Destination, columns: tuple[StageColumn, ...]) -> None:
        window, choice, target = self._window_to_leave(), self._rows.choice, self._rows.target
        owner = Owner(self._job.tenant, self._job.pipeline.id)
        kept_in = {*choice.tables, *map(TableName.parse, self._kept.values())}
        with translate(target.id):
            bounds = bounds_by_place(self._conn, owner, target.id, window, choice.by_table, kept_in)
            refusal = read_later(self._conn, self._load_plan(dest, columns), window, bounds)
        if bounds:
            self._keep_back(dest, columns, [refusal])

    def _keep_back_taken(self, dest: Destination, columns: tuple[StageColumn, ...]) -> None:
        with translate(self._target.id):
            refusals = taken_keys(self._conn, self._load_plan(dest, columns), self._rows.allowed)
        self._keep_back(dest, columns, refusals)

    def _keep_back(self, dest: Destination, columns: tuple[StageColumn, ...], refusals: list[Refusal]) -> None:
        taken = refuse_for(self._conn, self._load_plan(dest, columns), refusals)
        self._result = replace(self._result, tasks=(*self._result.tasks, taken))
        self._count_rules()

    def _window_to_leave(self) -> Window:
        """Where the next load of an incremental target begins, which a replay must not move."""
        target = self._rows.target
        window = open_window(self._conn, self._job.tenant, self._job.pipeline.id, target)
        if window is None or window.stored is None:
            raise Terminal(
                "replay.no_mark",
                f"{target.schema_}.{target.table} has no mark yet: the next load would begin at the highest of these "
                "rows, and miss those below.",
                node=target.id,
                hint="Set the mark of this target first, then replay the rows.",
            )
        return window

    def _keep_rejects(self) -> None:
        """They are where they were."""


class ReplayLoad(_OfRejectedRows):
    def _commit(self, dest: Destination, columns: tuple[StageColumn, ...]) -> LoadCommit:
        window = self._window_to_leave() if self._rows.keeps_mark else None
        self._hooks.before_load(self._node_counts())
        self._ready_quarantine()
        self._step("load")
        plan = self._load_plan(dest, columns)
        kept_in = [table.written for table in self._rows.choice.tables]
        told = {**plan.told, "tables": kept_in}
        after_load, allowed = self._replay_commit(window), self._rows.allowed
        whole = replace(plan, after_load=after_load, may_replace=allowed, files=self._files(), told=told)
        commit_load(self._conn, whole)
        return marker_of(self._conn, self._ref)

    def _replay_commit(self, window: Window | None) -> ReplayCommit:
        choice = self._rows.choice
        return ReplayCommit(
            owner=Owner(self._job.tenant, self._job.pipeline.id),
            rows={place: chosen.row for place, chosen in choice.rows.items()},
            tables=tuple(choice.tables),
            left_out=choice.left_out,
            by=self._rows.ref.by,
            reason=self._rows.ref.reason,
            window=window,
            repeats=choice.repeats,
        )

    def _files(self) -> list[LoadFile]:
        """The files that the rows came from; a table that keeps their hashes gets the real ones."""
        hashes = self._rows.ref.hashes
        return [
            LoadFile(seq, name, hashes.get((run, name), ""), is_unit=False)
            for (run, name), seq in self._rows.choice.origins.items()
        ]


class RecheckLoad(_OfRejectedRows, TargetPreview):
    """All of a replay but its transaction."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._conflicts: dict[Place, dict[str, Any]] = {}

    def _keep_back_taken(self, dest: Destination, columns: tuple[StageColumn, ...]) -> None:
        with translate(self._target.id):
            self._conflicts = read_conflicts(self._conn, self._load_plan(dest, columns))
        super()._keep_back_taken(dest, columns)

    def _look(self, dest: Destination, columns: tuple[StageColumn, ...]) -> Effect:
        effect = super()._look(dest, columns)
        with translate(self._target.id):
            verdicts = judge_places(self._conn, self._load_plan(dest, columns), self._rows.choice.rows)
        for verdict in verdicts.values():
            counts = self._report.row_counts
            counts[verdict.result] = counts.get(verdict.result, 0) + 1
        places = sorted(verdicts, key=lambda place: (verdicts[place].result == "loaded", place))
        self._report.row_results = [self._told(place, verdicts[place]) for place in places[:MOST_RESULTS]]
        return effect

    def _told(self, place: Place, verdict: Verdict) -> dict[str, Any]:
        row = self._rows.choice.rows[place].row
        return {
            "key": row.name,
            "id": row.id,
            "sourceFile": row.source_file,
            "sourceRecord": row.source_record,
            "result": verdict.result,
            "rules": list(verdict.rules),
            "conflict": self._conflicts.get(place),
        }
