"""Every load mode, with three faults at every step of a run: process group killed, database session ended, connection
cut. After the fault, the table, its watermark, its quarantined rows and its backup are as before or as after the load,
never between. No tables of Flow are left, and another run has the same result as without the fault.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from executors.holding import Held
from executors.model import BackupRef, Connection, FileUndo
from executors.postgres.backups import backup_table
from executors.postgres.client import connect
from executors.postgres.meta import ensure_meta
from executors.runs.load import run_pipeline
from executors.runs.restore import restore_pipeline
from executors.runs.undo import undo_file
from tests.executors.conformance.world import World, reconciles
from tests.executors.faults.faulty_run import AFTER_COMMIT
from tests.executors.faults.hitting import (
    COMMITTED,
    FAULTS,
    IN_PASS,
    IN_TRANSACTION,
    Attempt,
    answer_lost,
    each_fault,
    hit,
    killed,
    staged,
)
from tests.executors.faults.proxy import Relay
from tests.executors.row_modes import ROW_MODES

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

STEPS = (
    "scan",
    "probe",
    "pass",
    IN_PASS,
    "refuse",
    "check",
    "guard",
    "load",
    IN_TRANSACTION,
    AFTER_COMMIT,
    "finish",
)
OLD = [(1, "old"), (2, "old")]
FILE = "id,name\n1,new\n2,new\n3,new\n,nobody\n"
COME = [(1, "new"), (2, "new"), (3, "new")]
NEW = {
    "append": [*OLD, *COME],
    "incremental_watermark": [*OLD, (2, "new"), (3, "new")],
    "upsert": COME,
    "truncate": COME,
    "blue_green": COME,
}
RULES = [{"type": "notNull", "field": "id", "onFail": "skip"}]


@dataclass(frozen=True)
class Case:
    """A step of a load, and the settings of the target besides its mode."""

    mode: str
    step: str
    target: Mapping[str, Any] = field(default_factory=dict)
    given: str = ""

    def __str__(self) -> str:
        return "-".join([self.mode, self.step, *self.target, *["in place"] * bool(self.given)])


BACKUP = {"backupBeforeLoad": True}
ANALYZE = {"type": "sql", "statement": "ANALYZE t"}
SEEN = "create materialized view seen as select * from t"
CASES = [
    *(Case(mode, step) for mode in ROW_MODES for step in STEPS),
    *(Case(mode, step, BACKUP) for mode in ROW_MODES for step in (IN_TRANSACTION, AFTER_COMMIT)),
    Case("append", "list"),
    Case("incremental_watermark", "watermark"),
    Case("truncate", "hold", {"hold": {"maxDecreasePct": 99}}),
    Case("upsert", "hooks", {"preHook": ANALYZE}),
    Case("append", "post_hooks", {"postHook": ANALYZE}),
    Case("blue_green", "hooks", {"postHook": {**ANALYZE, "when": "pre_swap"}}),
    Case("blue_green", IN_TRANSACTION, given=SEEN),
]


@pytest.fixture
def world(tmp_path: Path, warehouse: Connection, schema: str, encryption_keys: str) -> World:
    world = World(tmp_path, warehouse, schema)
    with closing(connect(warehouse, autocommit=True)) as conn:
        ensure_meta(conn)
    world.write("a", FILE)
    return world


@pytest.fixture
def table(world: World) -> None:
    world.sql("create table t (id int, name text)")
    world.sql("insert into t values (1, 'old'), (2, 'old')")


# --- what is there ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class State:
    """All that a load changes in one transaction."""

    rows: list[tuple[Any, ...]]
    marks: list[str] = field(default_factory=list)
    commits: int = 0
    backups: list[int] = field(default_factory=list)


BEFORE = State(OLD)


def state_of(world: World, run_id: str) -> State:
    marks = world.sql("select value from flow_meta.pipeline_watermarks where target_schema = %s", world.schema)
    commits = world.sql("select count(*) from flow_meta.load_commits where run_id = %s", run_id)
    backups = world.sql("select n_rows from flow_meta.backups where run_id = %s", run_id)
    return State(sorted(world.rows()), [m for (m,) in marks], commits[0][0], [n for (n,) in backups])


def after(case: Case) -> State:
    marks = ["3"] if case.mode == "incremental_watermark" else []
    return State(sorted(NEW[case.mode]), marks, 1, [len(OLD)] if BACKUP.items() <= case.target.items() else [])


def quarantined(world: World) -> int:
    if world.sql("select to_regclass('rejected')") == [(None,)]:
        return 0
    return int(world.sql("select count(*) from rejected")[0][0])


def beside_the_target(world: World, run_id: str) -> list[str]:
    """Return the tables and swap schemas next to the target, and the backups without an entry."""
    tables = world.sql("select tablename from pg_tables where schemaname = %s", world.schema)
    swaps = world.sql("select nspname from pg_namespace where nspname like 'flow_new_%%'")
    orphaned = world.sql(
        "select 'backup' where to_regclass(%s) is not null"
        " and not exists (select from flow_meta.backups where run_id = %s)",
        backup_table(BackupRef(run_id, "load")).as_string(),
        run_id,
    )
    return sorted({name for (name,) in tables + swaps + orphaned} - {"rejected", "t"})


# --- the matrix ---------------------------------------------------------------------------------------------------


@each_fault
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.usefixtures("table")
def test_the_table_is_as_before_or_after_and_a_rerun_converges(
    world: World, case: Case, fault: Callable[[Attempt, Relay], None]
) -> None:
    if case.mode == "upsert":
        world.sql("alter table t add unique (id)")
    if case.given:
        world.sql(case.given)
    document, run_id = world.document(mode=case.mode, rules=RULES, **case.target), str(uuid.uuid4())

    hit(world, document, case.step, fault, run_id=run_id)

    committed = case.step in COMMITTED
    assert state_of(world, run_id) == (after(case) if committed else BEFORE)
    assert quarantined(world) == int(committed)
    assert beside_the_target(world, run_id) == []

    report = world.run(document, run_id=run_id, attempt=2)

    assert state_of(world, run_id) == after(case)
    assert reconciles(report)
    assert quarantined(world) == 1
    assert beside_the_target(world, run_id) == []
    assert staged(world, run_id) == 0


@pytest.mark.parametrize("mode", ROW_MODES)
@pytest.mark.usefixtures("table")
def test_a_commit_whose_answer_is_lost_is_found_by_the_rerun(world: World, mode: str) -> None:
    if mode == "upsert":
        world.sql("alter table t add unique (id)")
    document, run_id = world.document(mode=mode, rules=RULES), str(uuid.uuid4())

    hit(world, document, "load", answer_lost, run_id=run_id)

    assert state_of(world, run_id) == after(Case(mode, "load"))
    assert reconciles(world.run(document, run_id=run_id, attempt=2))
    assert state_of(world, run_id) == after(Case(mode, "load"))
    assert (quarantined(world), staged(world, run_id)) == (1, 0)


@each_fault
@pytest.mark.parametrize("step", ["probe", IN_TRANSACTION, AFTER_COMMIT])
@pytest.mark.parametrize("mode", ["append", "blue_green"])
def test_a_table_that_a_load_makes_is_filled_by_the_rerun(
    world: World, mode: str, step: str, fault: Callable[[Attempt, Relay], None]
) -> None:
    document, run_id = world.document(mode=mode, rules=RULES), str(uuid.uuid4())
    new = [(str(key), name) for key, name in COME]

    hit(world, document, step, fault, run_id=run_id)

    assert world.rows("id, name") == (new if step in COMMITTED else [])
    assert reconciles(world.run(document, run_id=run_id, attempt=2))
    assert world.rows("id, name") == new
    assert beside_the_target(world, run_id) == []
    assert staged(world, run_id) == 0


@each_fault
@pytest.mark.parametrize("step", ["guard", "load", IN_TRANSACTION, AFTER_COMMIT, "finish"])
@pytest.mark.usefixtures("table")
def test_a_load_that_was_approved_is_loaded_from_what_was_staged(
    world: World, step: str, fault: Callable[[Attempt, Relay], None]
) -> None:
    world.sql("insert into t select 9, 'old' from generate_series(1, 8)")
    before = sorted(world.rows())
    document, run_id = world.document(mode="truncate", rules=RULES, hold={"maxDecreasePct": 50}), str(uuid.uuid4())
    with pytest.raises(Held) as held:
        world.run(document, run_id=run_id)
    held_load = held.value.staged
    world.write("b", "id,name\n4,late\n")

    hit(world, document, step, fault, run_id=run_id, attempt=2, approved={"load": held_load})

    assert world.rows() == (COME if step in COMMITTED else before)
    assert quarantined(world) == int(step in COMMITTED)

    job = world.job(document, run_id, attempt=3, approved={"load": held_load})
    report = run_pipeline(job, world.memory.ports())

    assert (world.rows(), reconciles(report)) == (COME, True)
    assert quarantined(world) == 1
    assert staged(world, run_id) == 0


@pytest.mark.parametrize(
    ("step", "fault"),
    [*itertools.product(["load", IN_TRANSACTION], FAULTS), *itertools.product([AFTER_COMMIT, "finish"], [killed])],
)
@pytest.mark.usefixtures("table")
def test_a_restore_puts_rows_and_watermark_back_or_neither(
    world: World, step: str, fault: Callable[[Attempt, Relay], None]
) -> None:
    mode, backup = "incremental_watermark", BackupRef(str(uuid.uuid4()), "load")
    document, run_id = world.document(mode=mode, rules=RULES, **BACKUP), str(uuid.uuid4())
    world.run(document, run_id=backup.run_id)

    hit(world, document, step, fault, run_id=run_id, backup=backup)

    restored = State(OLD, commits=1)
    assert state_of(world, run_id) == (restored if step in COMMITTED else State(sorted(NEW[mode]), ["3"]))

    report = restore_pipeline(world.job(document, run_id, attempt=2, backup=backup), world.memory.ports())

    assert (state_of(world, run_id), reconciles(report)) == (restored, True)
    assert list(world.memory.states.values()) == ["pending"]


@pytest.mark.parametrize(
    ("step", "fault"),
    [
        *itertools.product(["start", "load", IN_TRANSACTION], FAULTS),
        *itertools.product([AFTER_COMMIT, "finish"], [killed]),
        ("load", answer_lost),
    ],
)
def test_an_undo_of_a_file_deletes_its_rows_once_or_nothing(
    world: World, step: str, fault: Callable[[Attempt, Relay], None]
) -> None:
    world.sql("create table t (id int, name text, _source_file_hash text, _flow_run uuid)")
    world.sql("insert into t values (1, 'old'), (2, 'old')")
    document, run_id = world.document(rules=RULES), str(uuid.uuid4())
    world.run(document)
    (sha256,) = world.memory.states
    undo = FileUndo(sha256, "a", "Wrong.", {"load": len(COME)})

    hit(world, document, step, fault, run_id=run_id, undo=undo)

    is_done = step in COMMITTED or fault is answer_lost
    rows = world.sql("select id, name from t order by 1, 2")
    assert rows == (OLD if is_done else sorted([*OLD, *COME]))

    report = undo_file(world.job(document, run_id, attempt=2, undo=undo), world.memory.ports())

    assert world.sql("select id, name from t order by 1, 2") == OLD
    assert world.sql("select count(*) from flow_meta.load_commits where run_id = %s", run_id) == [(1,)]
    assert world.sql("select status from rejected") == [("superseded",)]
    assert (world.memory.states, reconciles(report)) == ({sha256: "undone"}, True)
    assert world.run(document).nothing_new
    assert world.sql("select id, name from t order by 1, 2") == OLD
