"""Workers that are killed, and servers that crash, at every stage: afterwards the target equals the source."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import psycopg
import pytest

from executors.errors import Failure
from tests.executors.postgres_cdc.killed_follow import POINTS
from tests.executors.postgres_cdc.mirror import Mirror
from tests.executors.postgres_cdc.test_refusals import forget, slot_of
from tests.logical_server import LogicalServer, logical_server

pytestmark = [pytest.mark.spark, pytest.mark.postgres, pytest.mark.slow]

Process = subprocess.Popen[str]
LARGE = "(select string_agg(md5(random()::text || i::text), '') from generate_series(1, 100) i)"


@pytest.fixture(scope="module", params=[18, 15])
def own_server(request: pytest.FixtureRequest) -> Iterator[LogicalServer]:
    with logical_server(request.param) as server:
        yield server


@pytest.fixture
def own(own_server: LogicalServer, tmp_path: Path, spark: object) -> Mirror:
    """A mirror from one database to another of a server that may crash."""
    names = [f"{kind}{uuid.uuid4().hex}" for kind in "st"]
    with psycopg.connect(**own_server.login, autocommit=True) as admin:
        for name in names:
            admin.execute(f"create database {name}")
    source, target = (replace(own_server.connection, database=name) for name in names)
    return Mirror(tmp_path, replace(target, name="warehouse"), "public", source=source)


def begin(mirror: Mirror) -> None:
    mirror.at_source(
        "create table s (id int primary key, n int, name text, big text)",
        f"insert into s select i, 0, 'n' || i, {LARGE} from generate_series(1, 300) i",
    )


def change(mirror: Mirror, seed: int) -> None:
    """Change rows in several transactions, one of which is rolled back."""
    chosen = random.Random(seed)
    some = chosen.randrange(1, 200)
    mirror.at_source(
        f"update s set n = n + 1 where id between {some} and {some + 40}",
        f"begin; update s set name = 'r{seed}' where id % 7 = {seed % 7}; delete from s where id = {some}; commit",
        f"update s set id = {1000 + seed} where id = (select max(id) from s)",
        f"insert into s select {2000 + 100 * seed} + i, {seed}, 'new', {LARGE} from generate_series(1, 20) i",
        f"update s set big = {LARGE} where id = {some + 1}",
        "begin; delete from s; rollback",
    )


def start(mirror: Mirror, point: str, run: str, token: int, how: signal.Signals = signal.SIGKILL) -> Process:
    """Run in another process, which gets the signal at the point; "" for none."""
    given = {
        "folder": str(mirror.folder),
        "warehouse": asdict(mirror.warehouse),
        "source": asdict(mirror.source),
        "schema": mirror.schema,
        "tenant": mirror.tenant,
        "point": point,
        "signal": how,
        "run": run,
        "attempt": 1,
        "token": token,
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.executors.postgres_cdc.killed_follow"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(given))
    process.stdin.close()
    process.stdin = None
    return process


def run_killed(mirror: Mirror, point: str, run: str, token: int) -> int:
    """Run in another process that dies at the point."""
    process = start(mirror, point, run, token)
    _, errors = process.communicate(timeout=300)
    assert process.returncode in (0, -signal.SIGKILL), errors[-2000:]
    return process.returncode


def wait_until_frozen(process: Process) -> None:
    deadline = time.monotonic() + 300
    while Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        assert process.poll() is None, process.communicate()[1][-2000:]
        assert time.monotonic() < deadline, "it did not reach the point"
        time.sleep(0.1)


def catch_up(mirror: Mirror) -> None:
    while not mirror.run_once().nothing_new:
        pass


@pytest.mark.parametrize("point", POINTS)
def test_a_worker_that_is_killed_loses_and_repeats_nothing(own: Mirror, point: str) -> None:
    begin(own)
    in_first_load = point in ("slot", "pass", "load", "marker", "committed", "confirm")
    for window in range(2):
        if window == 0 and not in_first_load:
            own.follow()
            continue
        if window:
            if point == "slot":
                continue
            change(own, window)
        run, token = str(uuid.uuid4()), next(own.tokens)
        assert run_killed(own, point, run, token) == -signal.SIGKILL
        change(own, 10 + window)
        own.run(own.pipeline(), run_id=run, attempt=2)
        catch_up(own)
        assert own.difference() == []


@pytest.mark.parametrize("point", ["pass", "load", "marker"])
def test_a_worker_that_was_frozen_cannot_commit_once_another_has_taken_over(own: Mirror, point: str) -> None:
    """At `marker`, it holds the fence in its open transaction."""
    begin(own)
    own.follow()
    change(own, 1)
    run = str(uuid.uuid4())
    frozen = start(own, point, run, next(own.tokens), signal.SIGSTOP)
    try:
        wait_until_frozen(frozen)
        change(own, 2)
        own.run(own.pipeline(), run_id=run, attempt=2)
        catch_up(own)
        os.killpg(frozen.pid, signal.SIGCONT)
        _, errors = frozen.communicate(timeout=300)
    finally:
        os.killpg(frozen.pid, signal.SIGKILL) if frozen.poll() is None else None
    assert frozen.returncode == 1
    assert "run.lease_lost" in errors or "target.lost" in errors, errors[-2000:]
    with own.connect() as target:
        query = "select attempt from flow_meta.load_commits where run_id = %s"
        assert target.execute(query, [run]).fetchall() == [(2,)]
    assert own.difference() == []
    change(own, 3)
    catch_up(own)
    assert own.difference() == []


def test_workers_killed_at_any_time_while_others_write(own: Mirror) -> None:
    begin(own)
    own.follow()
    ends = threading.Event()

    def write() -> None:
        for seed in range(1000):
            if ends.is_set():
                return
            change(own, seed)
            time.sleep(0.05)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(4):
            token = next(own.tokens)
            process = start(own, "", str(uuid.uuid4()), token)
            time.sleep(random.Random(token).uniform(4, 12))
            process.kill()
            process.communicate()
            own.run_once()
    finally:
        ends.set()
        writer.join()
    catch_up(own)
    assert own.difference() == []


@pytest.mark.parametrize("step", ["list", "pass", "load"])
def test_a_server_that_crashes_during_a_run(own: Mirror, own_server: LogicalServer, step: str) -> None:
    """The server is that of the source and of the target."""
    begin(own)
    own.follow()
    change(own, 1)

    def crash(name: str, node: str | None) -> None:
        if name == step:
            own.memory.on_step = lambda name, node: None
            own_server.stop(signal.SIGQUIT)
            own_server.start()

    own.memory.on_step = crash
    with pytest.raises(Failure) as failed:
        own.run_once()
    assert failed.value.code.split(".")[0] in ("source", "target", "staging", "cdc")
    change(own, 2)
    catch_up(own)
    assert own.difference() == []


def test_a_lost_slot_is_refused_until_a_person_loads_everything_again(own: Mirror, own_server: LogicalServer) -> None:
    begin(own)
    own.follow()
    own_server.stop()
    own_server.start(max_slot_wal_keep_size="1MB", max_wal_size="64MB", min_wal_size="32MB")
    try:
        own.at_source("update s set n = 7 where id = 1", "create table filler (t text)")
        for _ in range(6):
            own.at_source(f"insert into filler select {LARGE} from generate_series(1, 5000)", "select pg_switch_wal()")
        own.at_source("checkpoint")
        with own.session() as connection:
            query = "select wal_status from pg_replication_slots where slot_name = %s"
            assert connection.execute(query, [slot_of(own)]).fetchone() == ("lost",)
        with pytest.raises(Failure) as refused:
            own.run_once()
        assert refused.value.code == "cdc.slot_lost"
        own_server.stop()
        own_server.start()
        forget(own)
        assert own.follow().rows_updated == 1
        change(own, 3)
        catch_up(own)
        assert own.difference() == []
    finally:
        own_server.stop()
        own_server.start()
