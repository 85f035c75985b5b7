"""Several targets of one source: each commits on its own, all read the same rows."""

from __future__ import annotations

from typing import Any

import pytest

from executors.errors import Failure
from tests.executors.conformance.world import World

pytestmark = [pytest.mark.spark, pytest.mark.postgres, pytest.mark.every_connector]


@pytest.fixture
def document(world: World) -> dict[str, Any]:
    """One validate node feeds the tables `t` and `u`."""
    world.sql("create table t (id int primary key, name text)")
    world.sql("create table u (id int primary key, name text)")
    document = world.document(rules=[{"type": "notNull", "field": "name", "onFail": "skip"}])
    load = document["nodes"][-1]
    document["nodes"].append({**load, "id": "load-u", "table": "u"})
    return document


def test_all_targets_load_and_a_shared_rule_counts_once(world: World, document: dict[str, Any]) -> None:
    world.write("a", "id,name\n1,Ann\n2,\n")
    report = world.run(document)
    assert world.rows() == world.rows(table="u") == [(1, "Ann")]
    assert [(rule.node, rule.violations) for rule in report.rules] == [("check", 1)]
    assert [node.id for node in report.nodes] == ["src", "check", "load", "load-u"]


def test_a_target_that_failed_is_loaded_by_the_next_run_and_the_other_left_alone(
    world: World, document: dict[str, Any]
) -> None:
    world.sql("insert into u values (1, 'in the way')")
    world.write("a", "id,name\n1,Ann\n")
    with pytest.raises(Failure):
        world.run(document)
    assert world.rows() == [(1, "Ann")]
    world.sql("delete from u")
    world.run(document)
    assert world.rows() == world.rows(table="u") == [(1, "Ann")]


def test_a_target_that_had_loaded_a_file_before_does_not_hide_the_rows_that_the_other_read(
    world: World, document: dict[str, Any]
) -> None:
    world.write("a", "id,name\n1,Ann\n2,\n")
    world.run({**document, "nodes": document["nodes"][:-1]})
    world.write("b", "id,name\n3,Cem\n")
    report = world.run(document)
    assert [(node.id, node.rows_in, node.rows_out) for node in report.nodes] == [
        ("src", 3, 3),
        ("check", 3, 2),
        ("load", 1, 1),
        ("load-u", 2, 2),
    ]
    assert [rule.violations for rule in report.rules] == [1]
    reported = {node.id: (node.rows_in, node.rows_out) for node in world.memory.nodes}
    assert reported["src"] == (3, 3), "the events have the same numbers"


def test_filters_of_several_nodes_count_each_what_they_take(world: World) -> None:
    world.sql("create table t (id int, name text)")
    world.write("a", "id,name\n1,Ann\n2,Bob\n3,Cem\n4,\n")
    document = world.document(
        ops=[{"op": "cast", "columns": {"id": "integer"}}, {"op": "filter", "where": "id > 1"}],
        rules=[{"type": "notNull", "field": "name", "onFail": "skip"}],
    )
    source, first, check, load = document["nodes"]
    again = {
        **first,
        "id": "again",
        "inputs": ["shape"],
        "ops": [{"op": "filter", "where": "id <> 3"}, {"op": "filter", "where": "id < 9"}],
    }
    document["nodes"] = [source, first, again, {**check, "inputs": ["again"]}, load]
    report = world.run(document)
    assert [(node.id, node.rows_in, node.rows_out) for node in report.nodes] == [
        ("src", 4, 4),
        ("shape", 4, 3),
        ("again", 3, 2),
        ("check", 2, 1),
        ("load", 1, 1),
    ]
    assert report.nodes[-1].rows_filtered == 2


def test_two_sources_load_one_table_each_by_a_target_of_its_own(world: World) -> None:
    world.sql("create table t (id int, name text)")
    world.write("a.csv", "id,name\n1,Ann\n2,Bob\n")
    world.write("b.txt", "name;id\nCem;3\n")
    first = world.document(source={"pattern": {"type": "glob", "value": "*.csv"}})
    format = {"type": "csv", "delimiter": ";"}
    second = world.document(source={"pattern": {"type": "glob", "value": "*.txt"}, "format": format})
    renamed = [
        {**node, "id": f"{node['id']}-b", "inputs": [f"{name}-b" for name in node.get("inputs", ())]}
        for node in second["nodes"]
    ]
    del renamed[0]["inputs"]
    report = world.run({**first, "nodes": [*first["nodes"], *renamed]})
    assert world.rows() == [(1, "Ann"), (2, "Bob"), (3, "Cem")]
    assert [(node.id, node.rows_loaded) for node in report.nodes if node.kind == "target"] == [
        ("load", 2),
        ("load-b", 1),
    ]
