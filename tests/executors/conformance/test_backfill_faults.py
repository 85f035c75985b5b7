"""What happens to the target while a backfill goes on costs no row and adds none twice."""

from __future__ import annotations

import pytest

from executors.errors import Terminal
from tests.executors.conformance.backfills import Filling, filled
from tests.executors.conformance.test_backfills import column, days, document
from tests.executors.conformance.world import World

pytestmark = [pytest.mark.spark, pytest.mark.postgres]


def test_no_chunk_adds_rows_that_a_load_without_the_backfill_has_loaded(world: World) -> None:
    days(world)
    filling = Filling(world, document(world))
    world.run({name: value for name, value in document(world).items() if name != "backfill"})

    with pytest.raises(Terminal) as refused:
        filling.load(filling.plan.chunks[0])

    assert refused.value.code == "backfill.target_followed"
    assert column(world) == column(world, table="s")


def test_a_backfill_does_not_end_over_a_table_without_its_chunks(world: World) -> None:
    days(world)
    filling = Filling(world, document(world))
    filling.load(filling.plan.chunks[0])
    world.sql("drop table t")
    filling.load(filling.plan.chunks[1])

    with pytest.raises(Terminal) as replaced:
        filling.finish()
    world.sql("delete from flow_meta.load_commits where run_id = %s", filling.loaded[1].run_id)
    world.memory.commits.clear()  # a person has let the pipeline forget its loads
    with pytest.raises(Terminal) as restored:
        filling.finish()

    assert replaced.value.code == restored.value.code == "backfill.chunks_lost"
    assert "Missing: 1." in replaced.value.message
    assert "Missing: 1, 2." in restored.value.message


def test_the_first_load_begins_at_the_cut_though_the_lag_was_removed_meanwhile(world: World) -> None:
    days(world)
    chosen = document(world)
    chosen["nodes"][-1]["watermarkLag"] = "2d"
    filled(world, chosen)
    del chosen["nodes"][-1]["watermarkLag"]

    world.run(chosen)
    world.sql("insert into s values (90, '2024-01-12', '')")
    world.run(chosen)

    assert column(world) == column(world, table="s")


def test_a_chunk_that_a_forgotten_run_has_loaded_is_not_added_again(world: World) -> None:
    days(world)
    filling = Filling(world, document(world))
    filling.load(filling.plan.chunks[0])
    world.memory.commits.clear()  # the control database is an older one

    with pytest.raises(Terminal) as refused:
        filling.load(filling.plan.chunks[0])

    assert refused.value.code == "backfill.chunk_loaded"
    assert len(column(world)) == len(set(column(world)))
