"""An engine without Spark that loads for real: fence, one transaction with rows and commit marker, in a real table.

Its hooks let a test stop it, wait in it or kill it at a given step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from psycopg import sql

from executors.load_record import InputCounts, LoadCommit, LoadCounts, LoadRecord, RunRef, TableIdentity
from executors.model import RuleCount, RunJob
from executors.ports import Ports
from executors.postgres import meta
from executors.postgres.client import connect, translate
from executors.postgres.fences import raise_fence, require_fence
from executors.report import RunReport
from ir.nodes import Target

ROWS = 3


@dataclass
class TableEngine:
    """Inserts `rows` rows into the target, once per run. `at` maps a step to what happens when it is entered."""

    at: dict[str, Callable[[RunJob, Ports], None]] = field(default_factory=dict)
    report: RunReport = field(default_factory=RunReport)
    rows: int = ROWS

    def __call__(self, job: RunJob, ports: Ports) -> RunReport:
        (target,) = job.pipeline.targets()
        with translate(target.id), connect(job.connections[target.connection], autocommit=True) as connection:
            self._enter("start", job, ports)
            meta.ensure_meta(connection)
            key = (job.tenant, job.pipeline.id, target.id)
            raise_fence(connection, *key, job.token)
            found = meta.find_commits(connection, job.run_id)
            self._enter("pass", job, ports)
            if not found:
                self._enter("load", job, ports)
                ref = RunRef(job.run_id, *key, job.attempt, job.token)
                with connection.transaction():
                    require_fence(connection, ref)
                    insert = sql.SQL("INSERT INTO {} SELECT generate_series(1, %s)")
                    connection.execute(insert.format(sql.Identifier(target.schema_, target.table)), [self.rows])
                    meta.write_commit(connection, ref, _marker(ref, target, self.rows))
                    self._during("transaction", job, ports)
                self._during("after commit", job, ports)
                found = meta.find_commits(connection, job.run_id)
            ports.events.committed(found[0])
            self._enter("finish", job, ports)
        self.report.nodes = [found[0].node_report]
        self.report.rules = [RuleCount("check", "r1", "notNull", "id", "skip", 0, evaluated=self.rows)]
        return self.report

    def _enter(self, step: str, job: RunJob, ports: Ports) -> None:
        ports.events.step(step)
        self._during(step, job, ports)

    def _during(self, step: str, job: RunJob, ports: Ports) -> None:
        ports.cancellation.check()
        if step in self.at:
            self.at[step](job, ports)


def _marker(ref: RunRef, target: Target, rows: int) -> LoadCommit:
    return LoadCommit(
        run_id=ref.run_id,
        node=ref.node,
        attempt=ref.attempt,
        token=ref.token,
        table=TableIdentity(target.schema_, target.table, None),
        counts=LoadCounts(staged=rows, inserted=rows),
        record=LoadRecord(input=InputCounts(rows_in=rows, rows_read=rows)),
        files_done=("a" * 64,),
    )
