"""Bytes that an expression casts to text although they are not valid text."""

from __future__ import annotations

from typing import Any

import pytest

from executors.errors import Failure
from tests.executors.conformance.test_node_previews import preview, results
from tests.executors.conformance.world import World


@pytest.fixture
def document(world: World) -> dict[str, Any]:
    world.sql("create table s (id int, b bytea)")
    world.sql(r"insert into s values (1, 'abc'), (2, '\xff41'), (3, '\x31')")
    cast = {"op": "derive", "columns": {"t": "CAST(b AS STRING)"}}
    rule = {"id": "short", "type": "maxLength", "field": "id", "max": 9, "onFail": "skip"}
    return world.table_document(ops=[cast], rules=[rule])


def test_such_rows_are_rejected_and_the_others_loaded(world: World, document: dict[str, Any]) -> None:
    document["nodes"][-1]["onTypeMismatch"] = "skip"
    shown = preview(world, document, "load")
    assert results(shown) == {1: "passed", 2: "rejected", 3: "passed"}
    world.run(document)
    assert world.sql("select id, t from t order by id") == [(1, "abc"), (3, "1")]
    [(rule, message)] = world.sql('select "ruleId", message from rejected')
    assert rule == "text:t"
    assert "is not UTF-8 text; bytes are read as text by decode()" in message


def test_a_run_that_stops_at_them_says_what_to_do(world: World, document: dict[str, Any]) -> None:
    with pytest.raises(Failure, match=r"'t' \(is not UTF-8 text.*hex\(\)"):
        world.run(document)
