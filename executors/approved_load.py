"""The load of rows that an earlier attempt has staged, that were held back, and that a person has approved.

It is evaluated again, before the hooks and in the load transaction. Where the table has changed so that the load would
do more than what was approved, it is held again.
"""

from __future__ import annotations

from executors.destination import refuse_unloadable
from executors.effects import Effect
from executors.errors import Terminal, Transient
from executors.holding import Evaluation, Kept, Reason, not_approved
from executors.model import Destination, LoadCommit, RunJob, RunReport, StageColumn
from executors.ports import Ports
from executors.postgres import quarantine, staging
from executors.postgres.plan import plan_stage_columns
from executors.postgres.staging import is_there
from executors.reading import Origin, nothing_to_read
from executors.runs.target_run import TargetRun
from executors.spark.session import RunSession
from executors.target_load import TargetLoad


class ApprovedLoad(TargetLoad):
    """Reads nothing. Staging is counted again before it is loaded; raises Transient `staging.lost` if it is gone."""

    def __init__(
        self, job: RunJob, ports: Ports, report: RunReport, session: RunSession, lane: TargetRun, kept: Kept
    ) -> None:
        reading = nothing_to_read([Origin(*origin) for origin in kept.origins], kept.units, kept.records)
        super().__init__(job, ports, report, session, lane.path, lane.connection, reading, lane.hooks)
        self._staged_by, self._staged_in = kept, kept.attempt
        self._working = kept.working
        self._tables = staging.staging_tables(job.run_id, self._target.id, kept.attempt)
        self._result, self._checked = kept.result, list(kept.checks)
        self._window.aside = kept.aside
        self._rules = self._counted_rules()

    def run(self) -> LoadCommit:
        try:
            dest, columns = self._as_it_was()
            for table in dict.fromkeys(self._kept.values()):
                quarantine.probe_quarantine(self._conn, table)
            commit = self._commit(dest, columns)
        except Terminal:
            self._keep_rejects()
            self._drop_staging()
            raise
        self._drop_staging()
        return commit

    def _as_it_was(self) -> tuple[Destination, tuple[StageColumn, ...]]:
        """The table and its columns, which must be those that were staged for."""
        dest = refuse_unloadable(self._conn, self._target)
        kept = self._staged_by
        if dest is None or not is_there(self._conn, self._tables):
            raise self._lost("What was staged is gone.")
        columns = plan_stage_columns(self._target, kept.working, dest)
        if columns != kept.columns:
            raise self._lost("The table's columns have changed since.")
        self._window.open()
        if self._window.mark_now() != kept.mark:
            raise self._lost("The mark was moved since.")
        return dest, columns

    def _lost(self, why: str) -> Transient:
        return Transient("staging.lost", why, node=self._target.id, hint="The source is read again.")

    def _is_evaluated_again(self) -> bool:
        return True

    def _not_approved(self, reasons: list[Reason], effect: Effect) -> list[Reason]:
        return not_approved(self._staged_by.evaluation, Evaluation.of(reasons, effect))
