"""A failed run leaves no database session open, whether the session reads, stages or loads."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from executors.errors import Failure, Transient
from tests.executors.conformance.world import World

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

SECONDS = 10
"""How long Spark may take to end the tasks of a failed job."""
ROWS = "create table s as select n as id, 'x' as name from generate_series(1, 100) as n"


def sessions(world: World, run_id: str) -> list[tuple[Any, ...]]:
    """Return the sessions of a run that are still open after a while, and their activity."""
    until = time.monotonic() + SECONDS
    while True:
        found = world.sql(
            "select application_name, state from pg_stat_activity where application_name like %s", f"flow run {run_id}%"
        )
        if not found or time.monotonic() > until:
            return found
        time.sleep(0.1)


def without_staging(world: World) -> Callable[[str, str | None], None]:
    """Drop the staging tables, so that the tasks cannot write."""

    def on_step(step: str, node: str | None) -> None:
        if step == "pass":
            for (name,) in world.sql("select tablename from pg_tables where schemaname = 'flow_staging'"):
                world.sql(f'drop table if exists flow_staging."{name}" cascade')

    return on_step


def stopping_at(step: str) -> Callable[[str, str | None], None]:
    def on_step(now: str, node: str | None) -> None:
        if now == step:
            raise Transient("target.lost", "gone")

    return on_step


@pytest.mark.parametrize("step", ["scan", "probe", "pass", "check", "load"])
def test_a_run_that_fails_in_any_step_closes_its_sessions(world: World, step: str) -> None:
    world.sql("create table s (id int primary key); insert into s values (1)")
    world.memory.on_step, run_id = stopping_at("list" if step == "scan" else step), str(uuid.uuid4())
    with pytest.raises(Failure):
        world.run(world.table_document(), run_id=run_id)
    assert sessions(world, run_id) == []


@pytest.mark.parametrize("ops", [[], [{"op": "derive", "columns": {"twice": "concat(name, name)"}}]])
def test_a_reader_is_closed_when_what_it_reads_cannot_be_staged(world: World, ops: list[dict[str, Any]]) -> None:
    world.sql(ROWS)
    world.memory.on_step, run_id = without_staging(world), str(uuid.uuid4())
    with pytest.raises(Failure) as stopped:
        world.run(world.table_document(ops=ops), run_id=run_id)
    assert stopped.value.code == "staging.types_differ"
    assert sessions(world, run_id) == []
