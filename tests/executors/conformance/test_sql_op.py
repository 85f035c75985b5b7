"""The op sql: each row stays one row, or is filtered or rejected, as with the equivalent ops."""

from __future__ import annotations

import pytest

from tests.executors.conformance.world import World, reconciles, target_of

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

TYPES = [{"name": "id", "type": "integer"}, {"name": "price", "type": "decimal(8,2)"}]
TEXT = "id,price,name,old\n1,2.50,ann,x\n2,,bob,x\n3,0.00,cid,x\n4,much,dan,x\n"


def test_a_query_computes_columns_and_filters_rows(world: World) -> None:
    world.sql("create table t (id int, name text, old text, price numeric, gross numeric)")
    world.write("a", TEXT)
    query = "SELECT id, old AS name, upper(name) AS old, price, price * 2 AS gross FROM input WHERE price >= 0"
    report = world.run(world.document(ops=[{"op": "sql", "query": query}], columns=TYPES, onTypeMismatch="skip"))
    assert [tuple(map(str, row)) for row in world.rows()] == [
        ("1", "x", "ANN", "2.50", "5.00"),
        ("3", "x", "CID", "0.00", "0.00"),
    ]
    assert (target_of(report).rows_filtered, target_of(report).rows_rejected, reconciles(report)) == (1, 1, True)


def test_an_expression_is_not_asked_of_rows_that_the_condition_filters(world: World) -> None:
    world.sql("create table t (id int, price numeric, name text, old text, share int)")
    world.write("a", "id,price,name,old\n1,2.00,a,x\n2,0.00,b,x\n")
    query = "SELECT *, 10 div cast(price AS int) AS share FROM input WHERE price <> 0"
    report = world.run(world.document(ops=[{"op": "sql", "query": query}], columns=TYPES))
    assert world.rows("id, share") == [(1, 5)]
    assert reconciles(report)
