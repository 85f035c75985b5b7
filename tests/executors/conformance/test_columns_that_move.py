"""One target from sources whose columns move, grow and shrink: each value stays under its own name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from executors.errors import Failure
from tests.executors.conformance.world import World, reconciles

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

TABLE = "create table t (id text {key}, name text, status text)"
MOVED, EXTRA, MISSING = (
    [("status", "open"), ("id", "1"), ("name", "Ann")],
    [("id", "2"), ("extra", "x"), ("name", "Bob"), ("status", "shut")],
    [("name", "Cy"), ("id", "3")],
)
Row = list[tuple[str, str]]


def put_file(world: World, row: Row) -> None:
    names, values = zip(*row, strict=True)
    world.write(f"{dict(row)['id']}.csv", f"{','.join(names)}\n{','.join(values)}\n")


def put_table(world: World, row: Row) -> None:
    """Replace the source table by one with these columns and this row."""
    world.sql(f"drop table if exists s; create table s ({', '.join(f'{name} text' for name, _ in row)})")
    world.sql(f"insert into s values ({', '.join('%s' for _ in row)})", *(value for _, value in row))


SOURCES = {"files": (put_file, World.document), "table": (put_table, World.table_document)}


@pytest.fixture(params=SOURCES)
def put(request: pytest.FixtureRequest) -> tuple[Callable[[World, Row], None], Callable[..., dict[str, Any]]]:
    return SOURCES[request.param]


@pytest.mark.parametrize("mode", ["append", "upsert"])
def test_moved_extra_and_missing_columns_stay_under_their_names(world: World, put: Any, mode: str) -> None:
    write, document = put
    world.sql(TABLE.format(key="primary key" if mode == "upsert" else ""))
    write(world, MOVED)
    assert reconciles(world.run(document(world, mode=mode)))
    assert world.rows() == [("1", "Ann", "open")]

    write(world, EXTRA)
    with pytest.raises(Failure, match=r"target\.column_unknown.*extra"):
        world.run(document(world, mode=mode))
    assert world.rows() == [("1", "Ann", "open")]
    evolving = document(world, mode=mode)
    evolving["nodes"][0]["schemaPolicy"] = "evolve"
    assert reconciles(world.run(evolving))
    assert world.rows("id, name, status, extra") == [("1", "Ann", "open", None), ("2", "Bob", "shut", "x")]

    write(world, MISSING)
    assert reconciles(world.run(document(world, mode=mode)))
    assert world.rows("id, name, status, extra")[2:] == [("3", "Cy", None, None)]


def test_a_required_column_that_is_missing_refuses_the_load(world: World, put: Any) -> None:
    write, document = put
    world.sql("create table t (id text, name text, status text not null)")
    write(world, MISSING)
    with pytest.raises(Failure, match=r"target\.column_required.*status"):
        world.run(document(world))
    assert world.rows() == []
