"""Branch nodes: each row is loaded into exactly one target, rejected or filtered once, and the counts match."""

from __future__ import annotations

from typing import Any

import pytest

from executors.errors import Terminal
from executors.model import RowsRef
from executors.node_preview.model import NodePreviewJob
from executors.node_preview.preview import preview_node
from executors.report import BranchCount, NodeReport, RunReport
from executors.runs.replay import replay_rows
from ir import parsePipelineIR
from tests.executors.conformance.world import World

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

ORDERS = "id,region,amount\n1,EU,5\n2,US,50\n3,,500\n4,EU,50\n5,UK,x\nshort\n6,US,7\n"
TYPED = {"op": "cast", "columns": {"id": "integer", "amount": "integer"}}


def branching(world: World, *branches: tuple[str, str], ops: Any = (TYPED,), **branch: Any) -> dict[str, Any]:
    """Return a document whose node `route` has a target for each branch, named after its table."""
    tables = [*(to for to, _ in branches), *([branch["default"]] if "default" in branch else [])]
    for table in tables:
        world.sql(f"create table {table} (id int, region text, amount int)")
    made = world.document(ops=ops, onTypeMismatch="skip")
    *before, check, load = made["nodes"]
    route = {
        "id": "route",
        "kind": "branch",
        "inputs": ["shape"],
        "branches": [{"to": f"check_{to}", "where": where} for to, where in branches],
        **{name: f"check_{value}" if name == "default" else value for name, value in branch.items()},
    }
    ends = []
    for table in tables:
        ends.append({**check, "id": f"check_{table}", "inputs": ["route"]})
        ends.append({**load, "id": table, "inputs": [f"check_{table}"], "table": table})
    return {**made, "nodes": [*before, route, *ends]}


def ids(world: World, table: str) -> list[int]:
    return [row[0] for row in world.rows("id", table)]


def node(report: RunReport, name: str) -> NodeReport:
    return next(node for node in report.nodes if node.id == name)


def balances(report: RunReport, *targets: str) -> bool:
    """Return whether the numbers of each target add up, and whether each row that was read has one result in the
    run."""
    ends = 0
    for name in targets:
        t = node(report, name)
        own = t.rows_loaded + t.rows_rejected
        if t.rows_read != own + t.rows_filtered + t.rows_elsewhere:
            return False
        ends += own
    route = node(report, "route")
    steps = all(
        one.rows_in == one.rows_out + one.rows_rejected_here + (one.rows_filtered or 0) + (one.rows_elsewhere or 0)
        for one in report.nodes
        if one.kind != "target"
    )
    return steps and node(report, "src").rows_read == ends + route.rows_filtered


EU, BIG = ("eu", "region = 'EU'"), ("big", "amount >= 50")


def test_a_row_goes_to_the_first_branch_whose_condition_is_true(world: World) -> None:
    world.write("a", ORDERS)
    report = world.run(branching(world, EU, BIG, default="rest"))
    assert (ids(world, "eu"), ids(world, "big"), ids(world, "rest")) == ([1, 4], [2, 3], [6])
    assert balances(report, "eu", "big", "rest")
    route = node(report, "route")
    assert (route.kind, route.rows_in, route.rows_out) == ("branch", 5, 5)
    assert route.branches == (BranchCount("check_eu", 2), BranchCount("check_big", 2), BranchCount("check_rest", 1))
    assert (node(report, "big").rows_elsewhere, node(report, "big").rows_filtered) == (5, 0)


def test_a_row_that_cannot_be_read_is_rejected_once_on_the_way_to_the_first_branch(world: World) -> None:
    world.write("a", ORDERS)
    report = world.run(branching(world, EU, BIG, default="rest"))
    assert world.sql('select "sourceRecord", "ruleId", "targetNode" from rejected order by 1') == [
        (5, "type:amount", "eu"),
        (6, "row", "eu"),
    ]
    assert [node(report, name).rows_rejected for name in ("eu", "big", "rest")] == [2, 0, 0]
    assert [(node(report, n).rows_in, node(report, n).rows_rejected_here) for n in ("src", "shape", "route")] == [
        (7, 1),
        (6, 1),
        (5, 0),
    ]


@pytest.mark.parametrize(("setting", "rejected", "filtered"), [("reject", 3, 0), ("filter", 2, 1)])
def test_rows_of_no_branch_are_rejected_or_filtered_once(
    world: World, setting: str, rejected: int, filtered: int
) -> None:
    world.write("a", ORDERS)
    report = world.run(branching(world, EU, BIG, onNoMatch=setting))
    assert (ids(world, "eu"), ids(world, "big")) == ([1, 4], [2, 3])
    assert balances(report, "eu", "big")
    assert (node(report, "eu").rows_rejected, node(report, "route").rows_filtered) == (rejected, filtered)
    none = world.sql("""select "sourceRecord" from rejected where "ruleId" = 'branch'""")
    assert none == ([(7,)] if setting == "reject" else [])


def test_a_column_that_was_dropped_before_still_rejects_its_rows(world: World) -> None:
    world.write("a", 'id,region,amount,more\n1,EU,5,"{""x"": 1}"\n2,EU,6,[]\n3,US,7,"{""x"": 2}"\n')
    flatten = {
        "op": "flatten",
        "field": "more",
        "columns": {"$.x": "integer"},
        "onMissing": "null",
        "onUnknown": "reject",
    }
    ops = [TYPED, flatten, {"op": "drop", "columns": ["more", "x"]}]
    report = world.run(branching(world, ("eu", "region = 'EU'"), default="rest", ops=ops))
    assert (ids(world, "eu"), ids(world, "rest")) == ([1], [3])
    assert balances(report, "eu", "rest")


def test_bad_rows_of_other_branches_do_not_fail_a_load_without_rows_of_its_own(world: World) -> None:
    world.write("a", "id,region,amount\n1,US,5\nshort\n")
    report = world.run(branching(world, EU, default="rest"))
    assert (ids(world, "eu"), ids(world, "rest"), node(report, "eu").rows_rejected) == ([], [1], 1)


def test_a_load_whose_own_rows_are_all_rejected_fails(world: World) -> None:
    world.write("a", "id,region,amount\n1,US,5\n2,EU,5\n")
    document = branching(world, EU, default="rest")
    check = next(one for one in document["nodes"] if one["id"] == "check_eu")
    check["rowLevel"] = [{"type": "range", "field": "amount", "max": 1, "onFail": "skip"}]
    with pytest.raises(Terminal, match="The only row was rejected") as raised:
        world.run(document)
    assert (raised.value.code, raised.value.node) == ("rows.too_many_rejected", "eu")


@pytest.mark.parametrize("text", ["id,region,amount\nshort\n2\n", "id,region,amount\n1,EU,x\n2,US,y\n"])
def test_if_no_row_reaches_a_branch_no_target_is_emptied(world: World, text: str) -> None:
    world.write("a", text)
    document = branching(world, EU, default="rest")
    *before, check, load, other_check, other_load = document["nodes"]
    document["nodes"] = [*before, other_check, {**other_load, "loadMode": "truncate"}, check, load]
    world.sql("insert into rest values (7, 'old', 1)")
    with pytest.raises(Terminal) as raised:
        world.run(document)
    assert (raised.value.code, raised.value.node) == ("rows.too_many_rejected", "rest")
    assert ids(world, "rest") == [7]


def test_bad_values_that_become_null_are_counted_with_the_branch_that_they_go_to(world: World) -> None:
    world.write("a", "id,region,amount\n1,EU,x\n2,US,y\n3,US,1\n")
    document = branching(world, EU, default="rest")
    for one in document["nodes"]:
        if one["kind"] == "target":
            one["onTypeMismatch"] = "null"
    report = world.run(document)
    assert (ids(world, "eu"), ids(world, "rest")) == ([1], [2, 3])
    assert [rule.violations for rule in report.rules if rule.rule_id == "type:amount"] == [2]
    assert balances(report, "eu", "rest")


def test_branches_may_lead_to_further_branches(world: World) -> None:
    world.write("a", ORDERS)
    document = branching(world, EU, BIG, default="rest")
    world.sql("create table small (like eu)")
    nodes = {one["id"]: one for one in document["nodes"]}
    inner = {"id": "inner", "kind": "branch", "inputs": ["route"]}
    inner |= {"branches": [{"to": "check_eu", "where": "amount > 10"}], "default": "small"}
    nodes["route"]["branches"][0]["to"] = "inner"
    nodes["check_eu"]["inputs"] = ["inner"]
    document["nodes"] += [inner, {**nodes["eu"], "id": "small", "table": "small", "inputs": ["inner"]}]
    report = world.run(document)
    assert (ids(world, "eu"), ids(world, "small"), ids(world, "big")) == ([4], [1], [2, 3])
    assert balances(report, "eu", "big", "rest", "small")


def test_conditions_of_spark_are_not_asked_of_rows_of_earlier_branches(world: World) -> None:
    world.write("a", "id,region,amount\n1,EU,0\n2,US,4\n3,US,8\n")
    report = world.run(branching(world, EU, ("big", "pmod(100 div amount, 2) = 1"), default="rest"))
    assert (ids(world, "eu"), ids(world, "big"), ids(world, "rest")) == ([1], [2], [3])
    assert balances(report, "eu", "big", "rest")


def test_a_replayed_row_goes_only_where_its_branch_leads(world: World) -> None:
    world.write("a", ORDERS)
    document = branching(world, EU, BIG)
    world.run(document)
    (chosen,) = world.sql("""select id from rejected where "ruleId" = 'branch'""")
    document["nodes"] = [
        {**one, "branches": [{**one["branches"][0], "where": "region in ('EU', 'US')"}, one["branches"][1]]}
        if one["id"] == "route"
        else one
        for one in document["nodes"]
    ]
    ref = RowsRef("eu", "source", [(world.schema, "rejected", list(chosen))])
    report = replay_rows(world.job(document, rows=ref), world.memory.ports())
    assert report.row_counts == {"loaded": 1}
    assert ids(world, "eu") == [1, 4, 6]


def test_a_preview_shows_the_rows_of_one_branch_and_counts_them_all(world: World) -> None:
    world.write("a", ORDERS)
    pipeline = parsePipelineIR(branching(world, EU, BIG, default="rest")).pipeline
    job = NodePreviewJob("p", pipeline, "check_eu", "first", {"warehouse": world.warehouse}, world.folder)
    shown = preview_node(job, world.memory)
    assert [row.before for row in shown.rows] == [(1, "EU", 5), (4, "EU", 50)]
    at_branch = preview_node(
        NodePreviewJob("p", pipeline, "route", "first", job.connections, world.folder), world.memory
    )
    assert (at_branch.kind, at_branch.rows_in, at_branch.rows_out) == ("branch", 5, 5)
    assert at_branch.notes[0].startswith("Of these rows: 2 to check_eu, 2 to check_big, 1 to check_rest.")


def aborting(world: World, first: str, *branches: tuple[str, str], **branch: Any) -> dict[str, Any]:
    """Return a document whose rows of other types end the run. `first` is the target that comes first in it."""
    document = branching(world, *branches, **branch)
    nodes = [{**one, "onTypeMismatch": "abort"} if one["kind"] == "target" else one for one in document["nodes"]]
    nodes.sort(key=lambda one: one["id"] == first, reverse=True)
    return {**document, "nodes": nodes}


@pytest.mark.parametrize("first", ["eu", pytest.param("rest", marks=pytest.mark.slow)])
def test_a_value_of_another_type_before_the_branch_ends_the_run_before_any_target_loads(
    world: World, first: str
) -> None:
    world.write("a", "id,region,amount\n1,EU,5\n2,US,x\n3,US,7\n")
    with pytest.raises(Terminal, match=r"Rule type on 'amount' .* failed on 1 row \(in/a record 2\)") as raised:
        world.run(aborting(world, first, EU, default="rest"))
    assert (raised.value.code, ids(world, "eu"), ids(world, "rest")) == ("rule.abort", [], [])


@pytest.mark.parametrize("first", ["rest", pytest.param("eu", marks=pytest.mark.slow)])
def test_an_unreadable_record_ends_the_run_before_any_target_loads(world: World, first: str) -> None:
    world.write("a", "id,region,amount\n1,EU,5\nshort\n3,US,7\n")
    document = aborting(world, first, EU, default="rest")
    source = next(one for one in document["nodes"] if one["kind"] == "source")
    source["config"]["format"]["onBadRow"] = "abort"
    for one in document["nodes"]:
        if one["kind"] == "target":
            one["onTypeMismatch"] = "skip"
    with pytest.raises(Terminal, match=r"Rule row .*failed on 1 row") as raised:
        world.run(document)
    assert (raised.value.code, ids(world, "eu"), ids(world, "rest")) == ("rule.abort", [], [])


def test_rows_without_an_order_end_the_run_before_any_target_of_a_branch_loads(world: World) -> None:
    world.sql("create table given (id int, region text, amount int)")
    world.sql("insert into given values (1, 'EU', 5), (2, 'US', 7), (2, 'EU', 7)")
    last = {"op": "deduplicate", "keys": ["id"], "orderBy": "amount"}
    document = aborting(world, "rest", EU, default="rest", ops=[last])
    source = next(one for one in document["nodes"] if one["kind"] == "source")
    table = {"schema": world.schema, "name": "given"}
    source |= {"connector": "postgres", "connection": "warehouse", "config": {"table": table}}
    for one in document["nodes"]:
        if one["id"] == "route":
            one["branches"] = [{"to": "check_eu", "where": "region = 'US'"}]
    with pytest.raises(Terminal, match="Rule order on 'amount'"):
        world.run(document)
    assert (ids(world, "eu"), ids(world, "rest")) == ([], [])


@pytest.mark.slow
def test_a_value_before_an_inner_branch_ends_the_run_before_any_of_its_targets_loads(world: World) -> None:
    world.write("a", "id,region,amount\n1,EU,5\n2,US,x\n3,US,7\n")
    document = aborting(world, "small", EU, default="rest")
    world.sql("create table small (like eu)")
    nodes = {one["id"]: one for one in document["nodes"]}
    inner = {"id": "inner", "kind": "branch", "inputs": ["route"]}
    inner |= {"branches": [{"to": "check_rest", "where": "amount > 6"}], "default": "small"}
    nodes["route"]["default"] = "inner"
    nodes["check_rest"]["inputs"] = ["inner"]
    document["nodes"] = [
        {**nodes["rest"], "id": "small", "table": "small", "inputs": ["inner"]},
        inner,
        *nodes.values(),
    ]
    with pytest.raises(Terminal, match="Rule type on 'amount'"):
        world.run(document)
    assert (ids(world, "eu"), ids(world, "rest"), ids(world, "small")) == ([], [], [])
