"""The dataset checks of one target in one attempt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime

from executors.checks import bound_checks
from executors.hooks.base import Interruption
from executors.model import Destination, RunJob, SourceField, StageColumn
from executors.postgres.checks import Staged, probe_checks, run_checks
from executors.postgres.checks.custom_sql import MOST_SECONDS
from executors.postgres.client import interrupt
from executors.postgres.ddl import Conn
from executors.postgres.read import ReadSession
from executors.postgres.staging import StagingTables
from executors.report import CheckReport
from ir.load_modes import load_mode
from ir.pipeline import Path


class TargetChecks:
    """The dataset checks of a path's validate nodes. `now` is the run's clock; `interruption` ends a session other than
    that of the load."""

    def __init__(self, job: RunJob, path: Path, conn: Conn, now: datetime, interruption: Interruption) -> None:
        self._job, self._target, self._conn = job, path.target, conn
        self._now, self._interruption = now, interruption
        self._checks = bound_checks(path)

    def staged_rows(
        self,
        tables: StagingTables,
        working: Sequence[SourceField],
        dest: Destination,
        columns: Sequence[StageColumn],
        winners: Sequence[int],
    ) -> Staged:
        """Check the rows that these tasks have staged. Before the pass there are no tasks."""
        return Staged(
            conn=self._conn,
            tables=tables,
            winners=winners,
            columns=columns,
            working=working,
            dest=dest,
            adds_rows=load_mode(self._target.load_mode).adds_rows,
            now=self._now,
            connection=self._job.connections[self._target.connection],
            open_session=self._read_only_session,
        )

    def probe(self, staged: Staged) -> None:
        """Raises Terminal for errors that would otherwise appear only after the pass."""
        probe_checks(staged, self._checks)

    def run(self, staged: Staged) -> list[CheckReport]:
        return [replace(report, target=self._target.id) for report in run_checks(staged, self._checks)]

    @contextmanager
    def _read_only_session(self) -> Iterator[Conn]:
        """A read-only session for SQL that people wrote. It ends with the run."""
        session = ReadSession(self._job.run_id, MOST_SECONDS)
        connection = self._job.connections[self._target.connection]
        with session.open(connection) as conn, self._interruption.by(lambda: interrupt(conn)):
            yield conn
