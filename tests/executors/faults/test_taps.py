"""A load of a stream of a tap, killed or cut off at each step: rows and state are both committed, or neither."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from executors.model import Connection
from executors.postgres.client import connect
from executors.postgres.meta import ensure_meta
from executors.processes.launch import sandbox_version
from executors.processes.private_folder import RUNNING, sweep_private_folders
from tests.executors.conformance.test_singer import document, install, order
from tests.executors.conformance.world import World, reconciles, target_of
from tests.executors.faults.faulty_run import AFTER_COMMIT
from tests.executors.faults.hitting import (
    COMMITTED,
    IN_PASS,
    IN_TRANSACTION,
    Attempt,
    begin,
    connection_cut,
    hit,
    killed,
    session_ended,
    staged,
)
from tests.executors.faults.proxy import Relay
from tests.taps import ORDERS

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.slow,
    pytest.mark.skipif(not sandbox_version(), reason="this kernel has no Landlock"),
]

CASES = [
    *((step, killed) for step in ("list", "pass", IN_PASS, "load", IN_TRANSACTION, AFTER_COMMIT, "finish")),
    *((step, fault) for step in ("pass", "load", IN_TRANSACTION) for fault in (session_ended, connection_cut)),
]


@pytest.fixture
def world(tmp_path: Path, warehouse: Connection, schema: str, encryption_keys: str) -> World:
    world = World(tmp_path, warehouse, schema)
    with closing(connect(warehouse, autocommit=True)) as conn:
        ensure_meta(conn)
    world.sql("create table t (id bigint primary key, amount numeric, changed timestamptz)")
    return world


def committed_state(world: World) -> list[Any]:
    query = "select record #>> '{sources,0,state,value}' from flow_meta.load_commits where tenant = %s order by token"
    return [value for (value,) in world.sql(query, world.tenant)]


@pytest.mark.parametrize(("step", "fault"), CASES, ids=lambda part: getattr(part, "__name__", part))
def test_rows_and_state_are_committed_together(
    world: World, step: str, fault: Callable[[Attempt, Relay], None]
) -> None:
    install(world, ORDERS, order(1, 1))
    made, run_id = document(world), str(uuid.uuid4())
    world.run(made)
    install(world, ORDERS, order(1, 1), order(2, 2), order(3, 3))

    hit(world, made, step, fault, run_id=run_id)

    states, ids = committed_state(world), world.rows("id")
    assert (len(states), ids) == ((2, [(1,), (2,), (3,)]) if step in COMMITTED else (1, [(1,)]))
    assert ("2026-01-03" in states[-1]) == (step in COMMITTED)

    world.run(made, run_id=run_id, attempt=2)
    install(world, ORDERS, order(1, 1), order(2, 2), order(3, 3), order(4, 4))
    last = world.run(made)

    assert reconciles(last)
    assert target_of(last).rows_read == 2  # the row at the state, and the new one
    assert world.rows("id") == [(1,), (2,), (3,), (4,)]
    assert staged(world, run_id) == 0


def test_a_tap_ends_with_its_worker_and_its_settings_are_deleted(world: World) -> None:
    install(world, f"open(os.environ['HOME'] + '/pid', 'w').write(str(os.getpid()))\ntime.sleep(300)\n{ORDERS}")
    running = world.folder / ".taps" / RUNNING
    with (
        Relay(world.warehouse.host, world.warehouse.port) as relay,
        begin(world, document(world), "list", relay, run_id=str(uuid.uuid4())) as attempt,
    ):
        attempt.wait_at("list")
        attempt._pipe.send("go on")
        pid = _content(lambda: next(iter(running.glob("*/pid")), None))
        assert list(running.glob("*/config.json"))
        attempt.kill()
    assert _has_ended(pid)
    assert sweep_private_folders(world.folder / ".taps") == 1
    assert list(running.iterdir()) == []


def _content(find: Callable[[], Path | None]) -> int:
    for _ in range(600):
        path = find()
        if path is not None and (text := path.read_text()):
            return int(text)
        time.sleep(0.1)
    raise AssertionError("the tap has not started")


def _has_ended(pid: int) -> bool:
    for _ in range(100):
        if not os.path.exists(f"/proc/{pid}"):
            return True
        time.sleep(0.1)
    return False
