"""Ops that extract values from text: every row is counted, and a preview shows the same rows as a run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from executors.errors import Failure
from tests.executors.conformance.test_node_previews import same_as_run
from tests.executors.conformance.test_replays import fix, replay
from tests.executors.conformance.world import World, reconciles, target_of

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

DOCUMENTS = [
    '{"n": 12345678901234567890.12, "who": "Zoë", "tags": ["a", {"b": 1.50}], "on": true}',
    '{"n": "7.5", "who": null, "tags": []}',
    '{"who": "x"}',
    '{"n": {"a": 1}, "who": "y"}',
    '{"n": 1.234, "who": "z"}',
    "{broken",
    '{"n": 1, "n": 2}',
    None,
]


def json_path(path: str, name: str, kind: str = "string", missing: str = "null") -> dict[str, Any]:
    return {"op": "jsonPath", "field": "doc", "path": path, "as": name, "type": kind, "onMissing": missing}


def extract(pattern: str, name: str, no_match: str = "null", **more: Any) -> dict[str, Any]:
    return {"op": "regexExtract", "field": "ref", "pattern": pattern, "as": name, "onNoMatch": no_match, **more}


def flatten(columns: dict[str, str], missing: str = "null", unknown: str = "ignore", **more: Any) -> dict[str, Any]:
    return {"op": "flatten", "field": "doc", "columns": columns, "onMissing": missing, "onUnknown": unknown, **more}


def write_documents(world: World) -> None:
    rows = [{"id": n, "doc": document} for n, document in enumerate(DOCUMENTS, 1)]
    world.write("a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))


OPS = [
    json_path("$.n", "n", "decimal(30,2)", "reject"),
    json_path("$.tags[-1]", "last", "json"),
    json_path("$.who", "who"),
    {"op": "drop", "columns": ["doc"]},
]
SPARK = {"op": "derive", "columns": {"who": "upper(who)"}}


@pytest.mark.parametrize("ops", [OPS, [*OPS, SPARK]], ids=["fused", "through-spark"])
def test_values_are_exact_and_what_is_none_is_rejected_with_its_reason(world: World, ops) -> None:
    world.sql("create table t (id text, n numeric, last jsonb, who text)")
    write_documents(world)
    report = world.run(world.document(format="jsonl", ops=ops, onTypeMismatch="skip"))
    who = "ZOË" if SPARK in ops else "Zoë"
    assert world.rows("id, n::text, last::text, who") == [
        ("1", "12345678901234567890.12", '{"b": 1.50}', who),
        ("2", "7.50", None, None),
    ]
    assert sorted(world.sql('select "sourceRecord", "ruleId" from rejected')) == [
        (3, "missing:n"),
        (4, "type:n"),
        (5, "type:n"),
        (6, "type:doc"),
        (7, "type:doc"),
        (8, "missing:n"),
    ]
    assert (target_of(report).rows_rejected, reconciles(report)) == (6, True)


def test_a_missing_value_is_rejected_even_where_mismatches_become_null(world: World) -> None:
    world.sql("create table t (id text, n numeric)")
    write_documents(world)
    ops = [json_path("$.n", "n", "decimal(30,2)", "reject"), {"op": "filter", "where": "n > 5"}]
    document = world.document(format="jsonl", ops=[*ops, {"op": "drop", "columns": ["doc"]}], onTypeMismatch="null")
    report = world.run(document)
    assert world.rows("id") == [("1",), ("2",)]
    assert world.sql('select distinct "sourceRecord" from rejected where "ruleId" = \'missing:n\' order by 1') == [
        (3,),
        (8,),
    ]
    assert reconciles(report)


def test_a_part_of_a_text_is_taken_or_its_row_rejected(world: World) -> None:
    world.sql("create table t (id text, number int, kind text)")
    world.write("a.csv", "id,ref\n1,order-0017/é\n2,none\n3,\n4,order-5\n")
    ops = [
        extract(r"order-(\d+)", "number", "reject"),
        extract(r"\d/(.)$", "kind"),
        {"op": "cast", "columns": {"number": "integer"}},
        {"op": "drop", "columns": ["ref"]},
    ]
    report = world.run(world.document(ops=ops))
    assert world.rows("id, number, kind") == [("1", 17, "é"), ("4", 5, None)]
    assert sorted(world.sql('select "sourceRecord", "ruleId", message from rejected')) == [
        (n, "missing:number", r"has no value: ref does not match order-(\d+)") for n in (2, 3)
    ]
    assert (target_of(report).rows_rejected, reconciles(report)) == (2, True)


def test_no_expression_fails_for_a_row_without_the_value(world: World) -> None:
    world.sql("create table t (id text, ref text, number text, x double precision)")
    world.write("a.csv", "id,ref\n1,order-8\n2,none\n")
    ops = [extract(r"\d+", "number", "reject", group=0), {"op": "derive", "columns": {"x": "1 / (length(ref) - 4)"}}]
    report = world.run(world.document(ops=ops))
    assert world.rows("id, number") == [("1", "8")]
    assert (target_of(report).rows_rejected, reconciles(report)) == (1, True)


NESTED = [
    '{"id": 9007199254740993, "who": {"name": "Zoë", "born": "2001-02-03"}}',
    '{"id": 2, "who": null}',
    '{"id": 3, "who": {"name": "x", "age": 5}}',
    '{"id": 4, "who": "Ann"}',
    '{"id": "four"}',
    "[]",
    '{"who": {}}',
]
PARTS = {"$.id": "bigint", "$.who.name": "string", "$.who.born": "date"}


@pytest.mark.parametrize("more", [[], [{"op": "derive", "columns": {"p_who_name": "upper(p_who_name)"}}]])
def test_members_become_columns_and_every_other_row_has_its_reason(world: World, more) -> None:
    world.sql("create table t (no text, p_id bigint, p_who_name text, p_who_born date)")
    rows = [{"no": n, "doc": document} for n, document in enumerate(NESTED, 1)]
    world.write("a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    ops = [flatten(PARTS, unknown="reject", prefix="p_"), {"op": "drop", "columns": ["doc"]}, *more]
    report = world.run(world.document(format="jsonl", ops=ops, onTypeMismatch="skip"))
    name = "ZOË" if more else "Zoë"
    assert world.rows("no, p_id, p_who_name, p_who_born::text") == [
        ("1", 9007199254740993, name, "2001-02-03"),
        ("2", 2, None, None),
        ("7", None, None, None),
    ]
    assert sorted(world.sql('select "sourceRecord", "ruleId" from rejected')) == [
        (3, "members:doc"),
        (4, "type:doc"),
        (5, "type:p_id"),
        (6, "type:doc"),
    ]
    assert (target_of(report).rows_rejected, reconciles(report)) == (4, True)


def test_objects_are_checked_even_if_their_columns_are_dropped(world: World) -> None:
    world.sql("create table t (no text)")
    world.write("a.csv", 'no,doc\n1,"{""a"": 1, ""x"": 2}"\n2,[]\n3,"{""a"": 1}"\n')
    ops = [flatten({"$.a": "integer"}, unknown="reject"), {"op": "select", "columns": ["no"]}]
    report = world.run(world.document(ops=ops, onTypeMismatch="skip"))
    assert world.rows() == [("3",)]
    assert reconciles(report)


def test_a_member_that_must_be_there_rejects_its_row(world: World) -> None:
    world.sql("create table t (doc text, a int)")
    world.write("a.csv", 'doc\n"{""a"": 1}"\n{}\n"{""a"": null}"\n[]\n')
    report = world.run(world.document(ops=[flatten({"$.a": "integer"}, "reject")], onTypeMismatch="skip"))
    assert world.rows("doc, a") == [('{"a": 1}', 1), ('{"a": null}', None)]
    assert sorted(world.sql('select "sourceRecord", "ruleId" from rejected')) == [(2, "missing:a"), (4, "type:doc")]
    assert reconciles(report)


def test_a_column_that_is_there_already_is_refused(world: World) -> None:
    world.write("a.csv", "doc,a\n{},1\n")
    with pytest.raises(Failure, match="two columns 'a'"):
        world.run(world.document(ops=[flatten({"$.a": "integer"})]))


@pytest.mark.parametrize("more", [[], [{"op": "derive", "columns": {"up": "upper(number)"}}]], ids=["fused", "spark"])
def test_a_preview_shows_what_a_run_does(world: World, more) -> None:
    world.write("a.csv", 'id,ref,doc\n1,a-1,"{""n"": 1.50}"\n2,b,{}\n3,c-3,x\n4,d-4,"{""n"": []}"\n')
    ops = [extract(r"-(\d)", "number", "reject"), json_path("$.n", "n", "float")]
    ops += [flatten({"$.n": "decimal(5,2)"}, unknown="reject", prefix="flat_"), *more]
    same_as_run(world, world.document(ops=ops, onTypeMismatch="skip"))


def test_no_rows_make_no_rows(world: World) -> None:
    world.sql("create table t (id text, ref text, number text)")
    world.write("a.csv", "id,ref\n")
    report = world.run(world.document(ops=[extract("(x)", "number")]))
    assert (target_of(report).rows_loaded, reconciles(report)) == (0, True)


def test_a_corrected_row_has_its_value_taken_out_on_replay(world: World) -> None:
    world.sql("create table t (id text, ref text, number text)")
    world.write("a.csv", "id,ref\n1,none\n2,order-8\n")
    document = world.document(ops=[extract(r"\d+", "number", "reject", group=0)])
    world.run(document)
    fix(world, ref="order-7")
    assert replay(world, document).row_counts == {"loaded": 1}
    assert world.rows() == [("1", "order-7", "7"), ("2", "order-8", "8")]
