"""Replays of rejected rows, with a fault at every step in each load mode. After the fault, the table, the entries of
the rows in quarantine, the watermark and the backup are all as before or all as after the replay, and another replay
has the same result as without the fault. No row is loaded twice, also if two replays load the same rows at once.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from executors.model import Connection, RowsRef
from executors.postgres.client import connect
from executors.postgres.meta import ensure_meta
from executors.runs.replay import replay_rows
from tests.executors.conformance.world import World, reconciles
from tests.executors.faults.faulty_run import AFTER_COMMIT
from tests.executors.faults.hitting import (
    COMMITTED,
    IN_PASS,
    IN_TRANSACTION,
    Attempt,
    answer_lost,
    at,
    begin,
    each_fault,
    hit,
    staged,
)
from tests.executors.faults.proxy import Relay
from tests.executors.row_modes import ROW_MODES

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

STEPS = ("probe", "pass", IN_PASS, "refuse", "check", "load", IN_TRANSACTION, AFTER_COMMIT, "finish")
FILE = "id,name\n1,Ann\n2,\n3,Cy\n4,\n5,\n6,\n"
NAMED = {"id": "named", "type": "notNull", "field": "name", "onFail": "skip"}
FEW = {"id": "few", "type": "range", "field": "id", "max": 5.5, "onFail": "skip"}
LOADED, NEWER = [(1, "Ann"), (3, "Cy")], [(4, "Newer"), (5, "Newer")]
"""The rows of the run, and the rows in the table of an upsert before the replay, which may replace 5."""


@dataclass(frozen=True)
class State:
    """All that a replay changes in one transaction. `rejected_rows` are (id, status, result, failed rules, revision);
    `reported` are the numbers of markers, watermarks, hashes at a watermark and backups."""

    rows: list[tuple[Any, ...]]
    rejected_rows: list[tuple[Any, ...]]
    reported: list[Any]


@dataclass(frozen=True)
class Replay:
    """A replay of all rows that the run before it rejected, with rules that three of four rows pass."""

    world: World
    mode: str
    kept_before: bool = False

    def document(self) -> dict[str, Any]:
        more = {"backupBeforeLoad": True} if self.kept_before else {}
        return self.world.document(mode=self.mode, rules=[FEW], **more)

    def rows(self) -> RowsRef:
        found = self.world.sql("select id, \"runId\" || ':' || \"rowId\", row ->> 'id' from rejected order by id")
        ids, ticked = [entry for entry, *_ in found], [name for _, name, key in found if key == "5"]
        return RowsRef("load", "source", [(self.world.schema, "rejected", ids)], overwrite=frozenset(ticked))

    def run(self, run_id: str, attempt: int) -> Any:
        job = self.world.job(self.document(), run_id, attempt, rows=self.rows())
        return replay_rows(job, self.world.memory.ports())

    def state(self, *run_ids: str) -> State:
        ask, schema = self.world.sql, self.world.schema
        rejected_rows = ask(
            'select (row ->> \'id\')::int, status, "replayResult", "replayRules", revision from rejected'
            ' where "replayRun" is null or "replayRun" = any(%s) order by 1',
            list(run_ids),
        )
        reported = [
            ask("select count(*) from flow_meta.load_commits where run_id = any(%s)", list(run_ids)),
            ask("select value from flow_meta.pipeline_watermarks where target_schema = %s", schema),
            ask(
                "select t.value, t.n from flow_meta.watermark_boundary_rows t join flow_meta.pipeline_watermarks w"
                " on w.id = t.watermark where w.target_schema = %s order by 1",
                schema,
            ),
            ask("select n_rows from flow_meta.backups where run_id = any(%s)", list(run_ids)),
        ]
        return State(self.world.rows(), rejected_rows, reported)

    def before(self) -> State:
        watermark = self.mode == "incremental_watermark"
        rows = sorted(LOADED + NEWER * (self.mode == "upsert"))
        open_rows = [(key, "open", None, None, 0) for key in (2, 4, 5, 6)]
        return State(rows, open_rows, [[(0,)], [("3",)] * watermark, [("3", 1)] * watermark, []])

    def after(self) -> State:
        before, takes = self.before(), [2, 5] if self.mode == "upsert" else [2, 4, 5]
        rows = [row for row in before.rows if row[0] not in takes] + [(key, None) for key in takes]
        loaded = [(key, "replayed", "loaded", None, 1) for key in takes]
        exists = [(4, "open", "exists", ["exists:key"], 0)] * (self.mode == "upsert")
        watermark, boundary_rows = (before.reported[1], before.reported[2])
        known = [*boundary_rows, ("4", 1), ("5", 1)] if boundary_rows else []
        backups = [(len(before.rows),)] * self.kept_before
        rejected_rows = sorted([*loaded, *exists, (6, "open", "fails", ["few"], 0)], key=lambda row: row[0])
        return State(sorted(rows), rejected_rows, [[(1,)], watermark, known, backups])


@pytest.fixture
def world(tmp_path: Path, warehouse: Connection, schema: str, encryption_keys: str) -> World:
    world = World(tmp_path, warehouse, schema)
    with closing(connect(warehouse, autocommit=True)) as conn:
        ensure_meta(conn)
    world.write("a.csv", FILE)
    return world


def rejected(world: World, mode: str, *, kept_before: bool = False) -> Replay:
    """A run that leaves four rows in quarantine."""
    world.sql("create table t (id int, name text)")
    if mode == "upsert":
        world.sql("alter table t add unique (id)")
    world.run(world.document(mode=mode, rules=[NAMED]))
    if mode == "upsert":
        world.sql("insert into t values (4, 'Newer'), (5, 'Newer')")
    return Replay(world, mode, kept_before)


CASES = [
    *((mode, step, False) for mode in ROW_MODES for step in STEPS),
    *((mode, step, True) for mode in ("append", "blue_green") for step in (IN_TRANSACTION, AFTER_COMMIT)),
]


@each_fault
@pytest.mark.parametrize(("mode", "step", "kept_before"), CASES)
def test_all_is_as_before_or_after_and_a_rerun_converges(
    world: World, mode: str, step: str, kept_before: bool, fault: Callable[[Attempt, Relay], None]
) -> None:
    replay, run_id = rejected(world, mode, kept_before=kept_before), str(uuid.uuid4())
    assert replay.state(run_id) == replay.before()

    hit(world, replay.document(), step, fault, run_id=run_id, rows=replay.rows())

    assert replay.state(run_id) == (replay.after() if step in COMMITTED else replay.before())

    report = replay.run(run_id, attempt=2)

    assert replay.state(run_id) == replay.after()
    assert reconciles(report)
    assert staged(world, run_id) == 0
    assert replay.run(str(uuid.uuid4()), attempt=1).row_counts.get("loaded", 0) == 0


@pytest.mark.parametrize("mode", ROW_MODES)
def test_a_commit_whose_answer_is_lost_is_found_by_the_rerun(world: World, mode: str) -> None:
    replay, run_id = rejected(world, mode), str(uuid.uuid4())

    hit(world, replay.document(), "load", answer_lost, run_id=run_id, rows=replay.rows())

    assert replay.state(run_id) == replay.after()
    assert reconciles(replay.run(run_id, attempt=2))
    assert replay.state(run_id) == replay.after()
    assert staged(world, run_id) == 0


@pytest.mark.parametrize("mode", ["append", "upsert"])
@pytest.mark.parametrize(
    ("step", "others"),
    [*itertools.product(["pass", "load"], ["probe", "load", IN_TRANSACTION]), (AFTER_COMMIT, "finish")],
)
def test_two_that_replay_the_same_rows_and_are_killed_load_them_once(
    world: World, mode: str, step: str, others: str
) -> None:
    """One replay waits at its step while the second one, which started later, reaches its own step. Then both are
    killed."""
    replay, one, other = rejected(world, mode), str(uuid.uuid4()), str(uuid.uuid4())
    with ExitStack() as stack:
        relay = stack.enter_context(Relay(world.warehouse.host, world.warehouse.port))
        first = stack.enter_context(begin(world, replay.document(), step, relay, run_id=one, rows=replay.rows()))
        stack.enter_context(at(world, first, step))
        second = stack.enter_context(begin(world, replay.document(), others, relay, run_id=other, rows=replay.rows()))
        stack.enter_context(at(world, second, others))
        second.kill()
        first.kill()

    def agrees(wanted: State) -> bool:
        """Return whether the state is as wanted, except for the markers: each replay has a marker for rows that the
        other one loaded."""
        return replace(replay.state(one, other), reported=wanted.reported) == wanted

    assert agrees(replay.after() if step in COMMITTED else replay.before())

    loaded = [replay.run(run_id, attempt=2).row_counts.get("loaded", 0) for run_id in (other, one)]

    assert agrees(replay.after())
    assert sorted(loaded) == [0, 2 if mode == "upsert" else 3]
