"""Rows of SQLite and DuckDB files are loaded by real runs."""

from __future__ import annotations

import sqlite3
from typing import Any

import duckdb
import pytest

from executors.errors import Failure
from tests.executors.conformance.world import World, reconciles, target_of


def document(world: World, connector: str, config: dict[str, Any], **target: Any) -> dict[str, Any]:
    made = world.document(**target)
    source = {key: value for key, value in made["nodes"][0].items() if key != "connection"}
    made["nodes"][0] = source | {"connector": connector, "config": config}
    return made


def second_target(made: dict[str, Any]) -> dict[str, Any]:
    made["nodes"].append({**made["nodes"][-1], "id": "second", "table": "u"})
    return made


def test_rows_of_sqlite_are_loaded_and_those_that_break_rules_are_rejected(world: World) -> None:
    with sqlite3.connect(world.folder / "shop.sqlite") as conn:
        conn.execute("CREATE TABLE orders (id INTEGER, day DATE, amount DECIMAL(20,6), note TEXT)")
        rows = ((n, "2024-02-29", n / 8, None if n == 7 else "naïve") for n in range(1, 1001))
        conn.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", rows)
        conn.execute("INSERT INTO orders VALUES ('many', '2024-01-01', 1, 'x'), (1001, 'soon', 1, 'x')")
    world.create_table("create table t (id bigint, day date, amount numeric(20,6), note text)")
    rules = [{"type": "notNull", "field": "note", "onFail": "skip"}]
    config = {"path": "shop.sqlite", "table": {"name": "orders"}}
    report = world.run(document(world, "sqlite", config, rules=rules, onTypeMismatch="skip"))
    assert reconciles(report)
    assert (target_of(report).rows_read, target_of(report).rows_rejected) == (1002, 3)
    assert world.sql("select count(*), sum(id), sum(amount), min(day)::text, min(note) from t") == [
        (999, 500493, 62561.625, "2024-02-29", "naïve")
    ]


@pytest.mark.slow
def test_both_targets_of_duckdb_get_the_same_rows_in_a_new_table(world: World) -> None:
    with duckdb.connect(str(world.folder / "shop.duckdb")) as conn:
        conn.execute("CREATE TABLE orders AS SELECT range AS id, [range, NULL] AS parts FROM range(5000)")
    made = document(world, "duckdb", {"path": "shop.duckdb", "table": {"schema": "main", "name": "orders"}})
    report = world.run(second_target(made))
    assert reconciles(report)
    assert world.sql("select count(*), sum(id), max(parts->>0) from t") == [(5000, 12497500, "999")]
    assert world.sql("select * from t except select * from u") == []


@pytest.mark.slow
def test_two_targets_of_sqlite_are_refused(world: World) -> None:
    with sqlite3.connect(world.folder / "shop.sqlite") as conn:
        conn.execute("CREATE TABLE orders (id INTEGER)")
    made = document(world, "sqlite", {"path": "shop.sqlite", "table": {"name": "orders"}})
    with pytest.raises(Failure) as refused:
        world.run(second_target(made))
    assert refused.value.code == "source.not_pinned"


@pytest.mark.slow
@pytest.mark.parametrize("connector", ["sqlite", "duckdb"])
def test_a_watermark_reads_only_later_rows(world: World, connector: str) -> None:
    path = world.folder / "shop.db"

    def add(first: int, last: int) -> None:
        conn = sqlite3.connect(path, isolation_level=None) if connector == "sqlite" else duckdb.connect(str(path))
        conn.execute("CREATE TABLE IF NOT EXISTS later (id bigint)")
        for n in range(first, last + 1):
            conn.execute("INSERT INTO later VALUES (?)", [n])
        conn.close()

    add(1, 10)
    world.create_table("create table t (id bigint)")
    made = document(
        world, connector, {"path": "shop.db", "query": "SELECT id FROM later"}, mode="incremental_watermark"
    )
    world.run(made)
    add(11, 15)
    report = world.run(made)
    # The row of the watermark itself is read again.
    assert (target_of(report).rows_read, target_of(report).rows_loaded) == (6, 5)
    assert world.rows() == [(n,) for n in range(1, 16)]
