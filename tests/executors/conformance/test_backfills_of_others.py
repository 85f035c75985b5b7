"""Backfills of other databases than PostgreSQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

from tests.executors.conformance.backfills import Filling
from tests.executors.conformance.world import World, reconciles, target_of
from tests.mariadb import WHY_NONE, MariaDB, has_mariadb, running_mariadb

pytestmark = [pytest.mark.spark, pytest.mark.postgres]


@pytest.fixture(scope="module")
def mariadb() -> Iterator[MariaDB]:
    if not has_mariadb:
        pytest.skip(WHY_NONE)
    with running_mariadb() as server:
        yield server


def document(world: World, source: dict[str, Any], **backfill: Any) -> dict[str, Any]:
    made = world.document(mode="incremental_watermark", watermarkColumn="at", emptyAsNull=False)
    made["nodes"][0] = {"id": "src", "kind": "source", **source}
    return {**made, "backfill": backfill}


def require_all_once(world: World, chosen: dict[str, Any], ids: list[int], move: Any, add: Any) -> Filling:
    """Load everything, and check that a row that has moved within its chunk, and one added below the cut, are found at
    the end."""
    filling = Filling(world, chosen)
    reports = filling.load_all(reversed(filling.plan.chunks))
    unchanged = list(filling.finish().chunk_changes)
    move()
    moved = filling.finish()
    add()
    changed = filling.finish().chunk_changes
    after = world.run(chosen)

    assert all(map(reconciles, reports))
    assert unchanged == []
    assert [(change.ordinal, change.rows_now - change.rows_read) for change in moved.chunk_changes] == [(1, 0)]
    assert [warning.code for warning in moved.warnings] == ["backfill.rows_moved"]
    assert [(change.ordinal, change.rows_now - change.rows_read) for change in changed] == [(1, 1)]
    assert target_of(after).rows_inserted >= 1
    assert [row[0] for row in world.sql("select id from t order by 1")] == ids
    return filling


@pytest.mark.parametrize(
    "kind", ["datetime(6)", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("timestamp", "date", "bigint"))]
)
def test_mariadb_is_divided(world: World, mariadb: MariaDB, kind: str) -> None:
    number = kind == "bigint"
    value = "9007199254740993 + seq" if number else "timestampadd(hour, 12 * seq, '2024-01-01')"
    mariadb.run(
        f"CREATE OR REPLACE TABLE s (id bigint, at {kind})",
        f"INSERT INTO s SELECT seq, {value} FROM seq_1_to_20",
        *(["INSERT INTO s VALUES (0, '0000-00-00')"] if kind == "date" else []),
    )
    world.stores = {"shop": mariadb.connection()}
    source = {"connector": "mysql", "connection": "shop", "config": {"table": {"name": "s"}}}
    chosen = document(world, source, window=10 if number else "5d")
    chosen["nodes"][-1]["onTypeMismatch"] = "skip"
    low, moved = ("5", "7") if number else ("'2024-01-02'", "'2024-01-03'")

    require_all_once(
        world,
        chosen,
        list(range(1, 21)),
        lambda: mariadb.run(f"UPDATE s SET at = {moved} WHERE id = 2"),
        lambda: mariadb.run(f"INSERT INTO s VALUES (99, {low})"),
    )


def test_sqlite_is_divided_by_whole_numbers(world: World) -> None:
    path = world.folder / "shop.sqlite"
    with sqlite3.connect(path) as conn:
        conn.execute("CREATE TABLE s (id INTEGER, at INTEGER)")
        conn.executemany("INSERT INTO s VALUES (?, ?)", ((n, 2**53 + n) for n in range(20)))
    source = {"connector": "sqlite", "config": {"path": "shop.sqlite", "table": {"name": "s"}}}

    def change(statement: str) -> None:
        with sqlite3.connect(path) as conn:
            conn.execute(statement)

    require_all_once(
        world,
        document(world, source, window=8),
        list(range(20)),
        lambda: change("UPDATE s SET at = 7 WHERE id = 2"),
        lambda: change("INSERT INTO s VALUES (99, 5)"),
    )


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        pytest.param("TIMESTAMP", "TIMESTAMP '2024-01-01' + to_days(n::INT)", marks=pytest.mark.slow),
        pytest.param("TIMESTAMPTZ", "TIMESTAMPTZ '2024-01-01 00:00:00+00' + to_days(n::INT)", marks=pytest.mark.slow),
        pytest.param("DECIMAL(10,2)", "n / 4", marks=pytest.mark.slow),
    ],
)
def test_duckdb_is_divided(world: World, kind: str, value: str) -> None:
    path = str(world.folder / "shop.duckdb")
    low, moved = ("-1", "0.3") if kind.startswith("DECIMAL") else ("'-infinity'", "'2024-01-02 05:00'")
    with duckdb.connect(path) as conn:
        conn.execute(f'CREATE TABLE s (id BIGINT, "at" {kind})')
        conn.execute(f"INSERT INTO s SELECT n, {value} FROM range(20) r(n)")
    source = {"connector": "duckdb", "config": {"path": "shop.duckdb", "table": {"schema": "main", "name": "s"}}}

    def change(statement: str) -> None:
        with duckdb.connect(path) as conn:
            conn.execute(statement)

    chosen = document(world, source, window=2 if kind.startswith("DECIMAL") else "10d")
    require_all_once(
        world,
        chosen,
        list(range(20)),
        lambda: change(f'UPDATE s SET "at" = {moved} WHERE id = 2'),
        lambda: change(f"INSERT INTO s VALUES (99, {low})"),
    )
