"""Loads of Delta tables that are killed: the rows of the table are always those of the loads whose markers its log
names, and a rerun loads the rest once. The rejected row is in quarantine once, as that of a load."""

from __future__ import annotations

import random
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from executors.model import Connection
from tests.destinations.delta.world import DeltaWorld
from tests.executors.conformance.destinations import WORLDS
from tests.executors.conformance.world import reconciles
from tests.executors.faults.faulty_run import AFTER_COMMIT, Spec
from tests.executors.faults.hitting import COMMITTED, Attempt

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

STEPS = ("scan", "probe", "pass", "refuse", "check", "guard", "load", AFTER_COMMIT, "finish")
OLD = [(1, "old"), (2, "old")]
NEW = {
    "append": [(1, "new"), (1, "old"), (2, "new"), (2, "old"), (3, "new")],
    "upsert": [(1, "new"), (2, "new"), (3, "new")],
    "truncate": [(1, "new"), (2, "new"), (3, "new")],
    "blue_green": [(1, "new"), (2, "new"), (3, "new")],
}
RULES = [{"type": "notNull", "field": "id", "onFail": "skip"}]
RANDOM_KILLS = 12
SLOWEST_COMMIT = 0.6
"""Seconds after the step `load` within which a random kill strikes: longer than the commit takes."""


@pytest.fixture(params=["delta", "delta_s3"])
def world(request: pytest.FixtureRequest, tmp_path: Path, warehouse: Connection, schema: str) -> DeltaWorld:
    kind = WORLDS[request.param]
    assert issubclass(kind, DeltaWorld)
    world = kind(tmp_path, warehouse, schema)
    world.write("a", "id,name\n1,new\n2,new\n3,new\n,nobody\n")
    return world


@dataclass
class Target:
    """A table with two rows, and a run that loads three others into it."""

    world: DeltaWorld
    mode: str
    table: str = "t"
    run_id: str = field(default_factory=lambda: str(uuid.uuid4()))

    def __post_init__(self) -> None:
        self.world.create_table(f"create table {self.table} (id int, name text)")
        folder = self.world.table(self.table)
        rows = pa.table({"id": pa.array([1, 2], pa.int32()), "name": ["old", "old"]})
        write_deltalake(folder.uri, rows, mode="append", storage_options=dict(folder.root.options))

    @property
    def document(self) -> dict[str, Any]:
        return self.world.document(mode=self.mode, rules=RULES, table=self.table)

    def attempt_at(self, step: str) -> Attempt:
        world = self.world
        spec = Spec(
            world.folder,
            world.warehouse,
            world.schema,
            world.tenant,
            next(world.tokens),
            self.run_id,
            self.document,
            step,
            destination=next(name for name, kind in WORLDS.items() if kind is type(world)),
            stores={"warehouse": world.lake},
        )
        return Attempt(world, spec)

    def run_again(self) -> None:
        assert reconciles(self.world.run(self.document, run_id=self.run_id, attempt=2))
        assert self.entries == [(4, "dropped", "open")]

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        return self.world.rows("id, name", self.table)

    @property
    def entries(self) -> list[tuple[Any, ...]]:
        """The entries of the rows that the run has rejected."""
        query = 'select "sourceRecord", disposition, status from rejected where "runId" = %s'
        return self.world.sql(query, self.run_id)

    @property
    def is_marked(self) -> bool:
        """Whether the log of the table names the run."""
        return any(one.get("flow.run") == self.run_id for one in self._open().history())

    @property
    def leftovers(self) -> list[str]:
        """The files of the table's folder that no version of the table has, except for its log."""
        table, folder = self._open(), self.world.table(self.table)
        used: set[str] = set()
        for version in range(table.version() + 1):
            table.load_as_version(version)
            used |= {uri.partition(f"/{self.world.schema}/{self.table}/")[2] for uri in table.file_uris()}
        return [path for path in folder.list("") if not path.startswith("_delta_log/") and path not in used]

    def _open(self) -> DeltaTable:
        table = self.world.table(self.table).open()
        assert table is not None
        return table


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("mode", NEW)
def test_the_table_is_as_before_or_after_a_kill_and_a_rerun_converges(world: DeltaWorld, mode: str, step: str) -> None:
    target = Target(world, mode)
    with target.attempt_at(step) as attempt:
        attempt.wait_at(step)
        attempt.kill()
    assert target.rows == (NEW[mode] if step in COMMITTED else OLD)
    target.run_again()
    assert target.rows == NEW[mode]
    assert target.leftovers == []


@pytest.mark.parametrize("mode", NEW)
def test_after_a_kill_at_any_moment_of_the_commit_the_rows_are_those_of_the_marker(
    world: DeltaWorld, mode: str
) -> None:
    chance = random.Random(mode)
    for number in range(RANDOM_KILLS):
        target = Target(world, mode, f"t{number}")
        with target.attempt_at("load") as attempt:
            attempt.wait_at("load")
            attempt.let_go_on()
            time.sleep(chance.uniform(0, SLOWEST_COMMIT))
            attempt.kill()
        assert target.rows == (NEW[mode] if target.is_marked else OLD)
        target.run_again()
        assert target.rows == NEW[mode]
        assert target.leftovers == []
