"""Held loads if the server crashes before approval, and if the pipeline has several targets."""

from __future__ import annotations

import uuid

import pytest

from executors.holding import Held
from tests.executors.conformance.test_holds import FOLDERS, SETTLED, approve, hold
from tests.executors.conformance.test_server_crash import crash, own_world
from tests.executors.conformance.world import World

__all__ = ["own_world"]

pytestmark = [pytest.mark.spark, pytest.mark.postgres]
TABLE = (
    "create table {0} (id int primary key, name text); insert into {0} select n, 'old' from generate_series(1, 10) n"
)
ONE_ROW = "id,name\n1,new\n"


@pytest.mark.slow
def test_a_server_that_crashes_before_the_approval_has_the_source_read_and_validated_again(own_world: World) -> None:
    own_world.sql(TABLE.format("t"))
    own_world.write("a", ONE_ROW)
    document, run_id = own_world.document(mode="truncate", hold={"maxDecreasePct": 50}), str(uuid.uuid4())
    held = hold(own_world, document, run_id)
    crash(own_world)
    with pytest.raises(Held) as again:
        approve(own_world, document, held, run_id)
    assert own_world.sql("select count(*) from t") == [(10,)]
    approve(own_world, document, again.value, run_id, attempt=3)
    assert own_world.rows() == [(1, "new")]


def test_the_other_target_gets_the_same_file_once(world: World) -> None:
    """The first target is held. After approval both targets get the file, which then counts as loaded."""
    world.sql(TABLE.format("t"))
    world.sql("create table u (id int primary key, name text)")
    world.write("a", ONE_ROW)
    document, run_id = world.document(mode="truncate", source={**FOLDERS, **SETTLED}), str(uuid.uuid4())
    load = document["nodes"][-1]
    document["nodes"].append({**load, "id": "second", "table": "u"})
    load["hold"] = {"maxDecreasePct": 50}
    held = hold(world, document, run_id)
    assert world.rows(table="u") == []
    approve(world, document, held, run_id)
    assert world.rows() == world.rows(table="u") == [(1, "new")]
    assert (world.folder / "in/.done/a").exists()
