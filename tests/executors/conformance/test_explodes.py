"""The op explode: one row of each element, and one outcome of each record, which the counts add up to."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from executors.errors import Failure, InvalidContent
from executors.node_preview.model import NodePreviewJob
from executors.node_preview.preview import preview_node
from executors.report import NodeReport, RunReport
from ir import parsePipelineIR
from tests.executors.conformance.test_replays import fix, replay
from tests.executors.conformance.world import World, target_of

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

DOCUMENTS: list[tuple[int, str | None]] = [
    (1, '["a", "b"]'),
    (2, "[]"),
    (3, None),
    (4, '[{"x": 1.50}, null, 12345678901234567890.12]'),
    (5, '{"no": "array"}'),
    (6, "[broken"),
    (7, '["z"]'),
]
SPARK = {"op": "derive", "columns": {"item": "upper(item)"}}


def explode(kind: str = "string", **more: Any) -> dict[str, Any]:
    return {"op": "explode", "field": "doc", "as": "item", "type": kind, "indexAs": "place", **more}


def write(world: World, rows: list[tuple[int, str | None]], name: str = "a.jsonl") -> None:
    world.write(name, "".join(json.dumps({"id": n, "doc": doc}) + "\n" for n, doc in rows))


def document(world: World, *ops: dict[str, Any], **more: Any) -> dict[str, Any]:
    drop = {"op": "drop", "columns": ["doc"]}
    return world.document(format="jsonl", ops=[*ops, drop], **{"onTypeMismatch": "skip", **more})


def balance(report: RunReport) -> tuple[int, ...]:
    """Read, exploded, loaded, rejected and filtered rows; that they add up, for the target and each node."""
    t = target_of(report)
    counts = (t.rows_read, t.rows_exploded, t.rows_loaded, t.rows_rejected, t.rows_filtered)
    assert t.rows_read + t.rows_exploded == t.rows_loaded + t.rows_rejected + t.rows_filtered + (t.rows_replaced or 0)
    for one in report.nodes:
        if one.kind != "target":
            gone = one.rows_rejected_here + (one.rows_filtered or 0)
            assert one.rows_in + (one.rows_exploded or 0) == one.rows_out + gone
    return counts


def node(report: RunReport, name: str) -> NodeReport:
    return next(node for node in report.nodes if node.id == name)


@pytest.mark.parametrize("more", [[], [SPARK]], ids=["fused", "through-spark"])
def test_each_element_is_a_row_and_each_other_record_has_one_end(world: World, more: list[Any]) -> None:
    world.sql("create table t (id text, item text, place int)")
    write(world, DOCUMENTS)
    report = world.run(document(world, explode("json" if not more else "string"), *more))
    if more:
        assert world.rows("id, item, place") == [("1", "A", 0), ("1", "B", 1), ("7", "Z", 0)]
        assert balance(report) == (7, 1, 3, 3, 2)
    else:
        assert world.rows("id, item, place") == [
            ("1", '"a"', 0),
            ("1", '"b"', 1),
            ("4", '{"x": 1.50}', 0),
            ("4", None, 1),
            ("4", "12345678901234567890.12", 2),
            ("7", '"z"', 0),
        ]
        assert balance(report) == (7, 3, 6, 2, 2)
    rejected = dict(world.sql('select "sourceRecord", "ruleId" from rejected'))
    assert rejected == {5: "type:doc", 6: "type:doc"} | ({4: "type:item"} if more else {})
    assert node(report, "shape").rows_filtered == 2


def test_records_without_elements_may_stay_as_one_row(world: World) -> None:
    world.sql("create table t (id text, item text, place int)")
    write(world, DOCUMENTS[:3])
    report = world.run(document(world, explode(keepEmpty=True)))
    assert world.rows() == [("1", "a", 0), ("1", "b", 1), ("2", None, None), ("3", None, None)]
    assert balance(report) == (3, 1, 4, 0, 0)


RULE = {"id": "limit", "type": "range", "field": "item", "max": 9, "onFail": "skip"}
WARNS = {"id": "high", "type": "range", "field": "item", "max": 5, "onFail": "warn"}


@pytest.mark.parametrize("more", [[], [{"op": "derive", "columns": {"twice": "item * 2"}}]], ids=["fused", "spark"])
def test_a_rejected_element_withholds_all_rows_of_its_record(world: World, more: list[Any]) -> None:
    world.sql("create table t (id text, item int, place int, twice int)")
    write(world, [(1, "[1, 99, 3, 98]"), (2, "[4, 8, 6]"), (3, '[1, "x"]'), (4, "[7]")])
    low = {"op": "filter", "where": "item <> 3 and item <> 8"}
    report = world.run(document(world, explode("integer"), low, *more, rules=[RULE, WARNS]))
    assert world.rows("id, item, place") == [("2", 4, 0), ("2", 6, 2), ("4", 7, 0)]
    entries = world.sql(
        'select "sourceRecord", "ruleId", message, disposition, row ->> \'doc\' from rejected order by 1, 2'
    )
    assert [entry[:2] + entry[3:] for entry in entries] == [
        (1, "high", "dropped", "[1, 99, 3, 98]"),
        (1, "limit", "dropped", "[1, 99, 3, 98]"),
        (2, "high", "loaded", "[4, 8, 6]"),
        (3, "type:item", "dropped", '[1, "x"]'),
        (4, "high", "loaded", "[7]"),
    ]
    assert entries[1][2].endswith("(doc[1], doc[3])")
    assert entries[3][2] == "is not a whole number (doc[1])"
    assert balance(report) == (4, 2, 3, 2, 1)
    assert target_of(report).rows_warned == 2
    assert [(rule.rule_id, rule.violations, rule.evaluated) for rule in report.rules if rule.evaluated] == [
        ("limit", 1, 3),
        ("high", 3, 3),
    ]


def test_a_corrected_record_is_replayed_with_all_its_rows(world: World) -> None:
    world.sql("create table t (id text, item int, place int)")
    write(world, [(1, "[1, 99, 3]"), (2, "[4]")])
    made = document(world, explode("integer"), rules=[RULE])
    world.run(made)
    assert replay(world, made).row_counts == {"fails": 1}
    fix(world, doc="[1, 2, 3]")
    report = replay(world, made)
    assert report.row_counts == {"loaded": 1}
    assert balance(report) == (1, 2, 3, 0, 0)
    assert world.rows("item, place") == [(1, 0), (2, 1), (3, 2), (4, 0)]
    assert replay(world, made).row_counts == {"already": 1}


UPSERT: Any = {"mode": "upsert", "upsertKey": ["id", "place"]}


def test_a_replayed_record_whose_keys_are_taken_is_not_loaded_in_part(world: World) -> None:
    world.sql("create table t (id text, item int, place int, primary key (id, place))")
    write(world, [(1, "[1, 99, 3]")])
    made = document(world, explode("integer"), rules=[RULE], failAtRejectedPct=0, **UPSERT)
    world.run(made)
    world.sql("insert into t values ('1', 7, 1)")
    fix(world, doc="[1, 2, 3]")
    report = replay(world, made)
    assert report.row_counts == {"exists": 1}
    assert balance(report) == (1, 0, 0, 1, 0)
    assert world.rows("item") == [(7,)]


def test_a_replayed_record_of_which_several_rows_are_refused_is_one_violation(world: World) -> None:
    world.sql("create table t (id text, item int check (item < 50), place int)")
    write(world, [(1, "[99, 98, 3]"), (2, "[4]")])
    world.run(document(world, explode("integer"), rules=[RULE]))
    report = replay(world, document(world, explode("integer")))
    assert report.row_counts == {"fails": 1}
    assert [(r.rule_id, r.violations) for r in report.rules if r.violations] == [("check:t_item_check", 1)]
    assert balance(report) == (1, 0, 0, 1, 0)


def test_an_upsert_replaces_rows_by_their_element(world: World) -> None:
    world.sql("create table t (id text, item int, place int, primary key (id, place))")
    write(world, [(1, "[1, 2]"), (1, "[3]")])
    report = world.run(document(world, explode("integer"), **UPSERT))
    assert world.rows("item, place") == [(2, 1), (3, 0)]
    assert balance(report)[:3] == (2, 1, 2)


def test_elements_of_a_record_must_have_different_keys(world: World) -> None:
    world.sql("create table t (id text primary key, item int, place int)")
    write(world, [(1, "[1]"), (2, "[1, 2]")])
    with pytest.raises(InvalidContent, match=r"from one record have the same key .*a\.jsonl record 2") as refused:
        world.run(document(world, explode("integer"), mode="upsert", upsertKey=["id"]))
    assert refused.value.code == "upsert.key_repeated"
    assert world.rows() == []


def test_a_row_that_the_table_refuses_ends_the_run(world: World) -> None:
    world.sql("create table t (id text, item int check (item < 9), place int)")
    write(world, [(1, "[1, 99]"), (2, "[4]")])
    with pytest.raises(InvalidContent, match="record 1") as stopped:
        world.run(document(world, explode("integer"), onTypeMismatch="skip"))
    assert stopped.value.code == "rule.abort"
    assert "reject them by a rule of a validate node" in stopped.value.hint
    assert world.rows() == []


def test_an_array_that_cannot_be_read_rejects_its_record_even_where_mismatches_become_null(world: World) -> None:
    world.sql("create table t (id text, item int, place int)")
    write(world, [(1, "[1, 2]"), (2, "{}"), (3, '["x", 3]')])
    report = world.run(document(world, explode("integer"), onTypeMismatch="null"))
    assert world.rows() == [("1", 1, 0), ("1", 2, 1), ("3", None, 0), ("3", 3, 1)]
    assert balance(report) == (3, 2, 4, 1, 0)


def test_elements_are_looked_up_one_by_one(world: World) -> None:
    from tests.executors.conformance.test_joins import with_customers

    world.sql("create table t (id text, item text, place int, name text)")
    write(world, [(1, '["a", "x"]'), (2, '["b", "a"]')])
    join = {"op": "join", "with": "customers", "type": "inner", "on": {"item": "key"}, "columns": {"name": "name"}}
    drop = {"op": "drop", "columns": ["doc"]}
    made = with_customers(world, explode(), join, drop, format="jsonl")
    next(one for one in made["nodes"] if one["id"] == "src").pop("columns")
    report = world.run(made)
    assert world.rows("id, item, name") == [("1", "a", "Ann"), ("2", "b", "Bob"), ("2", "a", "Ann")]
    assert balance(report) == (2, 2, 3, 0, 1)


def test_all_records_rejected_fails_the_load_and_an_array_from_within_json_can_be_exploded(world: World) -> None:
    world.sql("create table t (id text, item int, place int)")
    world.write("a.csv", 'id,doc\n1,"{""lines"": [1, 2]}"\n2,"{""lines"": []}"\n3,{}\n')
    lines = {"op": "jsonPath", "field": "doc", "path": "$.lines", "as": "lines", "type": "json", "onMissing": "reject"}
    ops = [lines, explode("integer", field="lines"), {"op": "drop", "columns": ["doc", "lines"]}]
    report = world.run(world.document(ops=ops, onTypeMismatch="skip"))
    assert world.rows() == [("1", 1, 0), ("1", 2, 1)]
    assert balance(report) == (3, 1, 2, 1, 1)
    world.write("b.csv", 'id,doc\n1,"{""lines"": [1, 99]}"\n2,"{""lines"": []}"\n')
    with pytest.raises(Exception, match="The only row was rejected"):
        world.run(world.document(ops=ops, onTypeMismatch="skip", rules=[RULE]))


def test_a_record_with_more_elements_than_a_batch_of_the_jvm_is_rejected_as_a_whole(world: World) -> None:
    world.sql("create table t (id text, item int, place int, twice int)")
    many = list(range(25_000))
    write(world, [(1, json.dumps(many)), (2, json.dumps([*many, "x"])), (3, "[1, 2]")])
    twice = {"op": "derive", "columns": {"twice": "item * 2"}}
    report = world.run(document(world, explode("integer"), twice))
    assert balance(report) == (3, 25_000, 25_002, 1, 0)
    assert world.sql("select id, count(*), sum(twice - 2 * place) from t group by 1 order by 1") == [
        ("1", 25_000, 0),
        ("3", 2, 4),
    ]
    assert world.sql('select "sourceRecord", message from rejected') == [(2, "is not a whole number (doc[25000])")]


@pytest.mark.slow
def test_the_rows_of_a_record_may_take_megabytes_in_spark_up_to_a_limit(world: World) -> None:
    world.sql("create table t (id text, note text, item int, place int, twice int)")
    notes = [("1", 600), ("2", 700)]
    world.write(
        "a.jsonl", "".join(json.dumps({"id": n, "note": "n" * 100_000, "doc": [1] * c}) + "\n" for n, c in notes)
    )
    twice = {"op": "derive", "columns": {"twice": "abs(item) * 2"}}
    report = world.run(document(world, explode("integer"), twice))
    assert balance(report) == (2, 599, 600, 1, 0)
    assert world.sql('select "sourceRecord", "ruleId" from rejected') == [(2, "size:doc")]


@pytest.mark.slow
def test_large_elements_count_for_the_limit_and_leave_spark_alive(world: World) -> None:
    world.sql("create table t (id text, item text, place int, twice text)")
    sizes = [(1, 35), (2, 20), (3, 35), (4, 20)]
    lines = (json.dumps({"id": n, "doc": ["x" * 1_000_000] * megabytes}) for n, megabytes in sizes)
    world.write("a.jsonl", "".join(f"{line}\n" for line in lines))
    twice = {"op": "derive", "columns": {"twice": "initcap(item)"}}
    report = world.run(document(world, explode("string"), twice))
    assert balance(report) == (4, 38, 40, 2, 0)
    assert world.sql('select "sourceRecord", "ruleId" from rejected order by 1') == [(1, "size:doc"), (3, "size:doc")]


def test_an_expression_that_fails_names_the_record_and_stores_it_whole(world: World) -> None:
    world.sql("create table t (id text, item int, place int, share int)")
    write(world, [(1, "[1]"), (2, "[4, 3]")])
    with pytest.raises(Failure, match=r"The first failing row is in/a\.jsonl record 2") as stopped:
        world.run(document(world, explode("integer"), {"op": "derive", "columns": {"share": "12 div (item - 3)"}}))
    assert stopped.value.code == "expression.failed"
    assert world.sql("select row ->> 'doc', disposition from rejected") == [("[4, 3]", "not_loaded")]


def test_json_of_a_table_and_nested_arrays_of_files_are_exploded_and_lead_back_to_their_record(world: World) -> None:
    world.sql("create table t (id text, sku text, price numeric, _source_record bigint)")
    lines = explode("json", field="lines", **{"as": "line", "indexAs": None})
    del lines["indexAs"]
    parts = {"op": "flatten", "field": "line", "columns": {"$.sku": "string", "$.price": "decimal(12,2)"}}
    parts |= {"onMissing": "reject", "onUnknown": "ignore"}
    ops = [lines, parts, {"op": "drop", "columns": ["lines", "line"]}]
    rows = [
        {"id": "1", "lines": [{"sku": "a", "price": 1.50}, {"sku": "b", "price": 2}]},
        {"id": "2", "lines": [{"sku": "c"}]},
        {"id": "3", "lines": [{"sku": "d", "price": 4}]},
    ]
    world.write("a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    report = world.run(world.document(format="jsonl", ops=ops, onTypeMismatch="skip"))
    assert balance(report) == (3, 1, 3, 1, 0)
    assert world.rows("id, sku, price::text, _source_record") == [
        ("1", "a", "1.50", 1),
        ("1", "b", "2.00", 1),
        ("3", "d", "4.00", 3),
    ]
    assert world.sql('select "sourceRecord", "ruleId", message from rejected') == [
        (2, "missing:price", "has no value: line has none at $.price (lines[0])")
    ]
    world.sql("truncate t")
    world.sql("create table s (id text, lines jsonb)")
    for row in rows:
        world.sql("insert into s values (%s, %s)", row["id"], json.dumps(row["lines"]))
    report = world.run(world.table_document(ops=ops, onTypeMismatch="skip"))
    assert balance(report) == (3, 1, 3, 1, 0)
    assert world.rows("id, sku, price::text") == [("1", "a", "1.50"), ("1", "b", "2.00"), ("3", "d", "4.00")]


def end_of(doc: str | None) -> tuple[str, list[tuple[int, int]], int]:
    """How a record ends, the (item, place) that are loaded of it, and the number of its rows."""
    try:
        elements = [] if doc in (None, "", "null") else json.loads(doc)
    except ValueError:
        return "rejected", [], 1
    if not isinstance(elements, list):
        return "rejected", [], 1
    if any(isinstance(element, str) or (element or 0) > 9 for element in elements):
        return "rejected", [], 1
    loaded = [(element, place) for place, element in enumerate(elements) if element not in (3, None)]
    return "loaded", loaded, max(1, len(elements))


@pytest.mark.slow
@pytest.mark.parametrize("more", [[], [{"op": "derive", "columns": {"twice": "item * 2"}}]], ids=["fused", "spark"])
@pytest.mark.parametrize("seed", range(3))
def test_random_records_end_as_a_plain_reference_says(world: World, seed: int, more: list[Any]) -> None:
    some = random.Random(seed)
    world.sql("create table t (id text, item int, place int, twice int)")
    elements: list[Any] = [*range(9), *range(9), None, None, 99, "x"]
    docs = [json.dumps(some.choices(elements, k=some.choice([0, 1, 2, 3, 60]))) for _ in range(150)]
    docs = some.sample([*docs, "{}", "[", "7", "", None, "null"], 156)
    for part, name in enumerate(("a.jsonl", "b.jsonl")):
        write(world, [(n, docs[n]) for n in range(part, 156, 2)], name)
    low = {"op": "filter", "where": "item <> 3"}
    report = world.run(document(world, explode("integer"), low, *more, rules=[RULE]))
    ends = [end_of(doc) for doc in docs]
    expected = [(str(n), *row) for n, (_, rows, _) in enumerate(ends) for row in rows]
    assert sorted(world.rows("id, item, place")) == sorted(expected)
    rejected = [str(n) for n, (end, *_) in enumerate(ends) if end == "rejected"]
    assert sorted(world.sql("select distinct row ->> 'id' from rejected")) == sorted((n,) for n in rejected)
    made = sum(count for *_, count in ends)
    assert balance(report) == (156, made - 156, len(expected), len(rejected), made - len(expected) - len(rejected))


@pytest.mark.parametrize("name", ["src", "shape", "check", "load"])
def test_a_preview_shows_records_before_and_rows_behind(world: World, name: str) -> None:
    world.sql("create table t (id text, item int, place int)")
    write(world, [(1, "[1, 99]"), (2, "[]"), (3, "[4, 5, 6]")])
    made = document(world, explode("integer"), rules=[RULE])
    pipeline = parsePipelineIR(made).pipeline
    job = NodePreviewJob("p", pipeline, name, "first", {"warehouse": world.warehouse}, world.folder)
    shown = preview_node(job, world.memory)
    rows = [(row.record, row.element, row.result) for row in shown.rows]
    assert (
        rows
        == {
            "src": [(1, 0, "passed"), (2, None, "passed"), (3, 0, "passed")],
            "shape": [(1, 0, "passed"), (1, 1, "passed"), (2, None, "filtered")] + [(3, n, "passed") for n in range(3)],
            "check": [(1, 0, "rejected"), (1, 1, "rejected")] + [(3, n, "passed") for n in range(3)],
            "load": [(3, n, "passed") for n in range(3)],
        }[name]
    )
    assert (shown.rows_read, shown.rows_in, shown.rows_out) == {
        "src": (3, 3, 3),
        "shape": (3, 3, 4),
        "check": (3, 4, 3),
        "load": (3, 3, 3),
    }[name]
    assert (shown.unit_in, shown.unit_out, shown.unit_rejected) == {
        "src": ("record", "record", "record"),
        "shape": ("record", "row", "record"),
        "check": ("row", "row", "record"),
        "load": ("row", "row", "record"),
    }[name]
