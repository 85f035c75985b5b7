"""Workers for streams as the processes that `flow up` starts: whatever happens to them, each change is loaded once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from executors.model import Connection
from flowapp.accounts.cli.up import stream_worker
from flowapp.celery import STREAM_TASK, app
from flowapp.runs.models import CommitRecord, Run, State, Trigger
from flowapp.runs.services import queue_run
from flowapp.streams.models import Stream, StreamHour, StreamState
from flowapp.streams.services import pause_stream
from tests.databases import connect_to

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.spark, pytest.mark.slow]

Process = subprocess.Popen[bytes]
PATIENCE = 600


def wait_for(condition: Callable[[], object], what: str, seconds: float = PATIENCE) -> float:
    """Return the seconds until the condition holds."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() < began + seconds, (what, list(Run.objects.values_list("state", "step", "error_code")))
        time.sleep(0.1)
    return time.monotonic() - began


class Writer(threading.Thread):
    """Inserts, updates and deletes one row in each transaction. `changes` counts the changed rows."""

    def __init__(self, source: Connection) -> None:
        super().__init__(daemon=True)
        self._source, self._ends, self.changes, self.newest = source, threading.Event(), 0, 3

    def run(self) -> None:
        with connect_to(self._source) as connection:
            while not self._ends.wait(0.1):
                new = self.newest + 1
                with connection.transaction():
                    for statement, row in (
                        ("insert into s values (%s, 'new')", new),
                        ("update s set name = 'changed' where id = %s", new - 1),
                        ("delete from s where id = %s", new - 3),
                    ):
                        self.changes += connection.execute(statement, [row]).rowcount
                self.newest = new

    def stop(self) -> None:
        self._ends.set()
        self.join()


class Workers:
    """Workers for streams, each in a process group of its own."""

    def __init__(self, environment: dict[str, str], logs: Path) -> None:
        self._environment, self._folder = environment, logs
        self.alive, self._logs = dict[int, Process](), dict[int, Path]()

    def start(self, *arguments: str) -> Process:
        path = self._folder / f"{len(self.alive)}.log"
        with path.open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, *(arguments or stream_worker())],
                env=self._environment,
                start_new_session=True,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.alive[process.pid], self._logs[process.pid] = process, path
        return process

    def wait_until_ready(self, *processes: Process) -> None:
        for process in processes:
            wait_for(lambda log=self._logs[process.pid]: b" ready." in log.read_bytes(), "a worker starts")

    def owner(self, run: Run) -> Process:
        """The process that executes the run."""
        return self.alive[int(now(run).lease_owner.split(":")[1])]

    def end(self) -> None:
        for process in self.alive.values():
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@pytest.fixture
def workers(process_environment: dict[str, str], followed: Any, tmp_path: Path) -> Iterator[Workers]:
    environment = process_environment | {
        "FLOW_STREAMING_ENABLED": "true",
        "FLOW_FILES_ROOT": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "flowapp.settings",
    }
    made = Workers(environment, tmp_path)
    yield made
    made.end()


def now(run: Run) -> Run:
    run.refresh_from_db()
    return run


@pytest.fixture
def table(source: Connection, warehouse: Connection, schema: str) -> Iterator[Callable[[str], list[Any]]]:
    """Returns the rows of the `source` or the `target`; none before the table exists."""
    with connect_to(source) as there, connect_to(warehouse) as here:

        def read(which: str) -> list[Any]:
            if which == "source":
                return there.execute("select id, name from s order by id").fetchall()
            if here.execute("select to_regclass(%s)", [f"{schema}.mirrored"]).fetchone() == (None,):
                return []
            return here.execute(f"select id, name from {schema}.mirrored order by id").fetchall()

        yield read


def test_each_change_is_loaded_once_whatever_happens_to_the_workers(
    followed: Any, source: Connection, table: Any, workers: Workers, capsys: pytest.CaptureFixture[str]
) -> None:
    workers.start("-m", "django", "flow_scheduler")
    workers.wait_until_ready(workers.start(), workers.start())
    run = queue_run(followed, Trigger.MANUAL)
    for _ in range(3):
        app.send_task(STREAM_TASK, (str(run.pk),))
    wait_for(lambda: len(table("target")) == 3, "the first load")
    assert (now(run).state, run.attempt) == (State.RUNNING, 1), "several deliveries, one writer"
    writer = Writer(source)
    writer.start()

    def is_current() -> bool:
        """Whether a row is loaded that is inserted from now on."""
        return any(row[0] > written for row in table("target"))

    def wait_for_other(attempt: int, what: str) -> None:
        taken = wait_for(lambda: now(run).attempt == attempt and run.state == State.RUNNING, f"{what}: taken over")
        loads = wait_for(is_current, f"{what}: loads again")
        with capsys.disabled():
            print(f"\n{what}: taken over after {taken:.1f} s, loads after {taken + loads:.1f} s", flush=True)

    written = writer.newest
    wait_for(is_current, "changes")

    # A deployment: the old worker stops while the new one starts.
    owner, written = workers.owner(run), writer.newest
    owner.send_signal(signal.SIGTERM)
    new = workers.start()
    wait_for_other(2, "stopped")
    assert now(run).losses == 0, "it was handed over, not lost"
    assert workers.owner(run).pid != owner.pid
    assert owner.wait(60) == 0
    workers.wait_until_ready(new)

    # The machine of a worker dies.
    owner, written = workers.owner(run), writer.newest
    os.killpg(owner.pid, signal.SIGKILL)
    new = workers.start()
    wait_for_other(3, "killed")
    workers.wait_until_ready(new)

    # A worker is frozen beyond its lease, and goes on.
    frozen, written = workers.owner(run), writer.newest
    os.killpg(frozen.pid, signal.SIGSTOP)
    wait_for_other(4, "frozen")
    os.killpg(frozen.pid, signal.SIGCONT)
    owner, written = workers.owner(run), writer.newest
    wait_for(is_current, "changes while the frozen worker goes on")
    time.sleep(5)
    assert (now(run).attempt, workers.owner(run).pid) == (4, owner.pid)
    assert frozen.poll() is None

    writer.stop()
    wait_for(lambda: table("source") == table("target"), "all changes")
    pause_stream(Stream.objects.get(), "alice", "maintenance")
    wait_for(lambda: now(run).state == State.SUCCEEDED, "the stream ends")
    assert table("source") == table("target")
    counts = [sum(getattr(hour, name) for hour in StreamHour.objects.all()) for name in ("rows", "inserted", "deleted")]
    assert counts[0] == 3 + writer.changes, "each change is counted once"
    assert counts[1] - counts[2] == len(table("target"))
    assert (CommitRecord.objects.filter(run=run).count(), Stream.objects.get().state) == (1, StreamState.PAUSED)
