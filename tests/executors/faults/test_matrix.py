"""Every load mode, hit at every step of its run in three ways: process group killed, database session ended,
connection cut. Afterwards the table is as before or as after the load, never between, and a rerun converges.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from executors.model import Connection
from executors.postgres.client import connect
from executors.postgres.load_modes import LOAD_MODES
from executors.postgres.staging import sweep_leftovers
from flowapp.embedded.processes import wait_until
from tests.executors.conformance.world import World, reconciles
from tests.executors.faults.faulty_run import AFTER_COMMIT
from tests.executors.faults.proxy import Relay

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

IN_TRANSACTION = "in the transaction"
STEPS = ("scan", "probe", "pass", "refuse", "check", "guard", "load", IN_TRANSACTION, AFTER_COMMIT, "finish")
COMMITTED = (AFTER_COMMIT, "finish")
OLD = [(1, "old"), (2, "old")]
FILE = "id,name\n2,new\n3,new\n,nobody\n"
NEW = {
    "append": [*OLD, (2, "new"), (3, "new")],
    "incremental_watermark": [*OLD, (3, "new")],
    "upsert": [(1, "old"), (2, "new"), (3, "new")],
    "truncate": [(2, "new"), (3, "new")],
    "blue_green": [(2, "new"), (3, "new")],
}
RULES = [{"type": "notNull", "field": "id", "onFail": "skip"}]


@pytest.fixture
def world(tmp_path: Path, warehouse: Connection, schema: str, encryption_keys: str) -> World:
    world = World(tmp_path, warehouse, schema)
    world.sql("create table t (id int, name text)")
    world.sql("insert into t values (1, 'old'), (2, 'old')")
    world.write("a", FILE)
    return world


class Attempt:
    """An attempt in a process of its own, stopped at a step."""

    def __init__(self, world: World, document: dict[str, Any], connection: Connection, step: str) -> None:
        self.run_id = str(uuid.uuid4())
        self._world = world
        spec = {
            "folder": str(world.folder), "connection": asdict(connection), "schema": world.schema,
            "tenant": world.tenant, "token": next(world.tokens), "run_id": self.run_id, "document": document,
            "step": step,
        }  # fmt: skip
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.executors.faults.faulty_run", json.dumps(spec)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip

    def __enter__(self) -> Attempt:
        return self

    def __exit__(self, *exc: object) -> None:
        self.kill()
        self._process.communicate()

    def wait_at(self, step: str) -> None:
        assert self._process.stdout
        assert self._process.stdout.readline() == f"at {step}\n"

    def kill(self) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def end_sessions(self) -> None:
        ended = self._world.sql("select pg_terminate_backend(pid) from pg_stat_activity where " + self._sessions)
        assert ended
        assert wait_until(lambda: not self.has_sessions(), 20)

    def has_sessions(self, also: str = "true") -> bool:
        return bool(self._world.sql(f"select pid from pg_stat_activity where {self._sessions} and {also}"))

    @property
    def _sessions(self) -> str:
        return f"application_name = 'flow run {self.run_id}'"

    def go_on(self) -> str:
        """Let it go on to its end; gives how it ended."""
        out, _ = self._process.communicate("\n", timeout=120)
        return out.strip()


@contextmanager
def at(world: World, attempt: Attempt, step: str) -> Iterator[None]:
    """Until the attempt stands where it is to be hit; it stays there as long as this lasts.

    In the transaction it waits for the table of markers, which it writes last: all else is done by then.
    """
    if step != IN_TRANSACTION:
        attempt.wait_at(step)
        yield
        return
    with closing(connect(world.warehouse)) as holder, ThreadPoolExecutor(1) as pool:
        attempt.wait_at("load")
        holder.execute("LOCK TABLE flow_meta.load_commits IN SHARE ROW EXCLUSIVE MODE")
        ending = pool.submit(attempt.go_on)
        assert wait_until(lambda: ending.done() or attempt.has_sessions("wait_event_type = 'Lock'"), 60)
        assert not ending.done(), f"it did not get there: {ending.result()}"
        yield
        holder.rollback()
        ending.result()


def killed(attempt: Attempt, relay: Relay) -> None:
    attempt.kill()


def session_ended(attempt: Attempt, relay: Relay) -> None:
    attempt.end_sessions()


def connection_cut(attempt: Attempt, relay: Relay) -> None:
    relay.cut()


@pytest.mark.parametrize("fault", [killed, session_ended, connection_cut], ids=lambda fault: fault.__name__)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("mode", LOAD_MODES)
def test_the_table_is_as_before_or_after_and_a_rerun_converges(
    world: World, mode: str, step: str, fault: Callable[[Attempt, Relay], None]
) -> None:
    if mode == "upsert":
        world.sql("alter table t add unique (id)")
    document = world.document(mode=mode, rules=RULES)
    with Relay(world.warehouse.host, world.warehouse.port) as relay:
        relayed = replace(world.warehouse, host="127.0.0.1", port=relay.port)
        stop = "load" if step == IN_TRANSACTION else step
        with Attempt(world, document, relayed, stop) as attempt:
            with at(world, attempt, step):
                fault(attempt, relay)
            if step != IN_TRANSACTION and fault is not killed:
                attempt.go_on()
        assert wait_until(lambda: not attempt.has_sessions(), 60), "a session is left"
    assert sorted(world.rows()) == (sorted(NEW[mode]) if step in COMMITTED else OLD)

    report = world.run(document, run_id=attempt.run_id, attempt=2)

    assert sorted(world.rows()) == sorted(NEW[mode])
    assert reconciles(report)
    assert world.sql("select count(*) from rejected") == [(1,)]
    assert world.sql("select count(*) from flow_meta.load_commits where run_id = %s", attempt.run_id) == [(1,)]
    assert nothing_is_left(world, attempt.run_id)


def nothing_is_left(world: World, run_id: str) -> bool:
    """Whether a sweep leaves nothing of the run in staging, and no table beside the target."""
    with closing(connect(world.warehouse, autocommit=True)) as conn:
        sweep_leftovers(conn, lambda run, attempt: run == run_id)
    tables = world.sql("select tablename from pg_tables where schemaname = %s order by 1", world.schema)
    staged = world.sql(
        "select relname from pg_class where relnamespace = 'flow_staging'::regnamespace"
        " and obj_description(oid, 'pg_class') like %s", f"%{run_id}%",
    )  # fmt: skip
    return tables == [("rejected",), ("t",)] and not staged
