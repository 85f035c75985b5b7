"""An attempt that is frozen in its load transaction (SIGSTOP, a paused machine) does not block the next attempt."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any

import pytest

from executors.postgres.client import connect
from flowapp.embedded.processes import wait_until
from tests.executors.conformance.world import World, reconciles
from tests.executors.faults.hitting import PATIENCE, Attempt, begin
from tests.executors.faults.proxy import Relay
from tests.executors.faults.test_matrix import RULES, Case, after, quarantined, state_of, table, world
from tests.executors.row_modes import ROW_MODES

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

__all__ = ["table", "world"]


@contextmanager
def frozen_in_transaction(world: World, document: dict[str, Any], run_id: str) -> Iterator[None]:
    """Freeze an attempt that is idle in its transaction after it has loaded its rows. It continues after the block."""
    with (
        Relay(world.warehouse.host, world.warehouse.port) as relay,
        begin(world, document, "load", relay, run_id=run_id) as attempt,
        closing(connect(world.warehouse)) as holder,
        ThreadPoolExecutor(1) as pool,
    ):
        attempt.wait_at("load")
        holder.execute("LOCK TABLE flow_meta.load_commits IN SHARE ROW EXCLUSIVE MODE")
        ending = pool.submit(attempt.go_on)
        reach(attempt, "wait_event_type = 'Lock'")
        attempt.freeze()
        try:
            holder.rollback()
            reach(attempt, "state = 'idle in transaction'")
            yield
        finally:
            attempt.thaw()
        assert ending.result(PATIENCE).startswith("ended target.")


def reach(attempt: Attempt, state: str) -> None:
    assert wait_until(lambda: attempt.has_sessions(state), PATIENCE)


@pytest.mark.parametrize("mode", ROW_MODES)
@pytest.mark.usefixtures("table")
def test_the_next_attempt_loads_and_the_frozen_one_loads_nothing(world: World, mode: str) -> None:
    if mode == "upsert":
        world.sql("alter table t add unique (id)")
    document, run_id = world.document(mode=mode, rules=RULES), str(uuid.uuid4())

    with frozen_in_transaction(world, document, run_id):
        report = world.run(document, run_id=run_id, attempt=2)

    assert reconciles(report)
    assert state_of(world, run_id) == after(Case(mode, "load"))
    assert quarantined(world) == 1
