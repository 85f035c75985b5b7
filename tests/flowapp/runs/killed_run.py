"""A run whose workers are killed after its commit in the target."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import dataclass

from executors.model import Connection
from flowapp.clock import from_now
from flowapp.runs.dispatch import execute_claimed
from flowapp.runs.leases import claim_run
from flowapp.runs.models import Run
from flowapp.runs.recovery import recover_lost_runs
from tests.databases import connect_to


@dataclass
class KilledRun:
    """A queued run. `environment` is that of its workers."""

    run: Run
    warehouse: Connection
    environment: dict[str, str]

    def kill(self, point: int) -> None:
        """Let a worker execute the run and die at the point; take the run over when its lease has run out."""
        command = [sys.executable, "-m", "tests.flowapp.runs.killed_worker", str(self.run.pk), str(point)]
        done = subprocess.run(command, env=self.environment, start_new_session=True, timeout=300, check=False)
        assert done.returncode == -signal.SIGKILL
        with connect_to(self.warehouse) as session:
            query = "select count(*) from flow_meta.load_commits where run_id = %s"
            assert session.execute(query, [str(self.run.pk)]).fetchone() == (1,)
        Run.objects.filter(pk=self.run.pk).update(lease_until=from_now(-1))
        assert recover_lost_runs() == 1

    def finish(self) -> Run:
        """Let another worker take the run, and execute it to its end."""
        claim = claim_run(self.run.pk, "survivor")
        assert claim
        assert execute_claimed(claim) is None
        self.run.refresh_from_db()
        return self.run
