"""Rows of a database are loaded by real runs through an Arrow driver."""

from __future__ import annotations

from typing import Any

import pytest

from executors.errors import Failure
from tests.connectors.arrow_postgres import dialect
from tests.executors.conformance.world import World, reconciles, target_of


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    dialect.register(monkeypatch)


def document(world: World, config: dict[str, Any], **target: Any) -> dict[str, Any]:
    world.stores = {"shop": dialect.stored(world.warehouse)}
    made = world.document(**target)
    made["nodes"][0] |= {"connector": "arrow_postgres", "connection": "shop", "config": config}
    return made


def test_rows_are_loaded_and_those_that_break_rules_are_rejected(world: World) -> None:
    world.create_table("create table orders (id bigint, day date, amount numeric(30,12), note text)")
    world.create_table("create table t (id bigint, day date, amount numeric(30,12), note text)")
    world.sql(
        "insert into orders select x, '2024-02-29', x / 8.0, case when x <> 7 then 'naïve' end "
        "from generate_series(1, 10000) as x"
    )
    rules = [{"type": "notNull", "field": "note", "onFail": "skip"}]
    report = world.run(document(world, {"table": {"schema": world.schema, "name": "orders"}}, rules=rules))
    assert reconciles(report)
    assert (target_of(report).rows_read, target_of(report).rows_rejected) == (10000, 1)
    assert world.sql("select count(*), sum(id), sum(amount), min(note) from t") == [
        (9999, 50_004_993, 50_004_993 / 8, "naïve")
    ]


@pytest.mark.slow
def test_a_watermark_reads_only_later_rows(world: World) -> None:
    world.create_table("create table later (id int)")
    world.create_table("create table t (id integer)")
    world.sql("insert into later select generate_series(1, 10)")
    made = document(world, {"query": f"SELECT id FROM {world.schema}.later"}, mode="incremental_watermark")
    world.run(made)
    world.sql("insert into later select generate_series(11, 15)")
    report = world.run(made)
    # The row of the watermark itself is read again.
    assert (target_of(report).rows_read, target_of(report).rows_loaded) == (6, 5)
    assert world.rows() == [(n,) for n in range(1, 16)]


@pytest.mark.slow
def test_two_targets_of_one_source_are_refused(world: World) -> None:
    for table in ("twice", "t", "u"):
        world.create_table(f"create table {table} (id integer)")
    made = document(world, {"table": {"schema": world.schema, "name": "twice"}})
    made["nodes"].append({**made["nodes"][-1], "id": "second", "table": "u"})
    with pytest.raises(Failure) as refused:
        world.run(made)
    assert refused.value.code == "source.not_pinned"
