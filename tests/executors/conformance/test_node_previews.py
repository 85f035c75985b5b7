"""A preview of a node shows the results of a run for the same rows, and changes nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from executors.errors import Cancelled, ExpressionFailed, Failure
from executors.node_preview import source
from executors.node_preview.model import NodePreview, NodePreviewJob, SampleKind
from executors.node_preview.preview import preview_node
from executors.spark import node_rows
from ir import parsePipelineIR
from tests.executors.conformance.world import FORMATS, World

OPS = [
    {"op": "rename", "columns": {"no": "id"}},
    {"op": "cast", "columns": {"id": "integer", "amount": "decimal(9,2)"}},
    {"op": "trim", "columns": ["name"]},
    {"op": "derive", "columns": {"double": "amount * 2"}},
    {"op": "filter", "where": "id <> 3"},
]
RULES = [
    {"id": "named", "type": "notNull", "field": "name", "onFail": "skip"},
    {"id": "short", "type": "maxLength", "field": "name", "max": 4, "onFail": "warn"},
    {"id": "positive", "type": "range", "field": "amount", "min": 0, "onFail": "skip", "when": "id > 1"},
]
TABLE = "create table t (id int not null, name varchar(6), amount numeric(9,2), double numeric)"
HEADER = "no,name,amount\n"
LINES = ["1, Ann ,-1.5", "2,Barbara,-2", "3,Cy,3", "4,,4", "x,Di,5", "6,Jonathan,6", "7,Eve", "8,Fay,8.25"]


def preview(world: World, document: Mapping[str, Any], node: str, sample: SampleKind = "first", **more) -> NodePreview:
    job = NodePreviewJob(
        "preview",
        parsePipelineIR(dict(document)).pipeline,
        node,
        sample,
        {"warehouse": world.warehouse},
        world.folder,
        **more,
    )
    return preview_node(job, world.memory)


def after(shown: NodePreview) -> list[dict[str, Any]]:
    """Return the rows after the node."""
    names = [column.name for column in shown.after]
    return [dict(zip(names, row.after, strict=True)) for row in shown.rows if row.after is not None]


def results(shown: NodePreview) -> dict[int, str]:
    return {row.record: row.result for row in shown.rows}


@pytest.fixture
def mixed(world: World) -> dict[str, Any]:
    """Return a document with ops and rules for a file of good and bad rows, with an existing target table."""
    world.sql(TABLE)
    world.write("a.csv", HEADER + "\n".join(LINES) + "\n")
    return world.document(ops=OPS, rules=RULES, onTypeMismatch="skip")


# --- the same as a run --------------------------------------------------------------------------------------------


def same_as_run(world: World, document: Mapping[str, Any]) -> None:
    """Compare the counts of each node, the rows of the target, and each rejected row with its rules."""
    shown = {node["id"]: preview(world, document, node["id"]) for node in document["nodes"]}
    report = world.run(document)
    for node in report.nodes:
        counts = node.rows_in, node.rows_out, node.rows_rejected_here
        assert (shown[node.id].rows_in, shown[node.id].rows_out, shown[node.id].rows_rejected) == counts, node.id
    loaded = world.sql("select row_to_json(t)::text from t order by _source_record")
    assert list(map(texts, after(shown["load"]))) == [texts(json.loads(row, parse_float=str)) for (row,) in loaded]
    violated = {(row.record, rule.rule_id) for node in shown.values() for row in node.rows for rule in row.violations}
    assert violated == set(world.sql('select "sourceRecord", "ruleId" from rejected'))


def texts(row: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the values without the columns that a load fills."""
    return {name: None if value is None else str(value) for name, value in row.items() if not name.startswith("_")}


DERIVED_BY_SPARK = {"op": "derive", "columns": {"length": "length(concat(name, '.'))"}}
UNUSED_CAST = [{"name": "amount", "type": "integer"}]


@pytest.mark.parametrize(
    "changes",
    [
        {"ops": OPS, "rules": RULES},
        {"ops": [*OPS, DERIVED_BY_SPARK], "rules": RULES},
        pytest.param({"ops": [*OPS, {"op": "deduplicate", "keys": ["name"]}], "rules": RULES}, marks=pytest.mark.slow),
        {"ops": [{"op": "drop", "columns": ["amount"]}], "columns": UNUSED_CAST},
        {"ops": OPS, "rules": [{"type": "expression", "field": "id", "expression": "id % 2 = 0", "onFail": "skip"}]},
    ],
    ids=["ops-and-rules", "through-spark", "deduplicate", "a-cast-that-nothing-uses", "expression"],
)
def test_every_node_shows_what_a_run_counts_loads_and_rejects(world: World, changes) -> None:
    world.write("a.csv", HEADER + "\n".join(LINES) + "\n")
    same_as_run(world, world.document(**changes, onTypeMismatch="skip"))


@pytest.mark.parametrize("format", FORMATS)
def test_files_of_each_format_are_read_as_by_a_run(world: World, format: str) -> None:
    rows = [{"no": n, "name": "x" * (n % 6) or None, "amount": n - 3} for n in range(1, 12)]
    world.write(f"a.{format}", FORMATS[format](rows))
    same_as_run(world, world.document(format=format, rules=[RULES[0], RULES[1]]))


def test_the_columns_of_the_table_decide_what_is_loaded(world: World, mixed) -> None:
    world.sql("alter table t add _source_record bigint")
    same_as_run(world, mixed)


# --- one node -----------------------------------------------------------------------------------------------------


def test_a_validate_node_reports_the_result_and_the_reason_of_each_row(world: World, mixed) -> None:
    shown = preview(world, mixed, "check")
    assert results(shown) == {1: "passed", 2: "rejected", 4: "rejected", 6: "warned", 8: "passed"}
    assert [(rule.rule_id, rule.violations, rule.evaluated) for rule in shown.rules] == [
        ("named", 1, 5),
        ("short", 2, 5),
        ("positive", 1, 4),
    ]
    (barbara,) = (row for row in shown.rows if row.record == 2)
    assert [(rule.rule_id, rule.field, rule.severity) for rule in barbara.violations] == [
        ("short", "name", "warn"),
        ("positive", "amount", "skip"),
    ]


def test_a_transform_shows_its_rows_before_and_after(world: World, mixed) -> None:
    shown = preview(world, mixed, "shape")
    assert [(column.name, column.type) for column in shown.before] == [(n, "string") for n in ("no", "name", "amount")]
    assert [(column.name, column.type) for column in shown.after] == [
        ("id", "integer"),
        ("name", "string"),
        ("amount", "decimal(9,2)"),
        ("double", "decimal(11,2)"),
    ]
    assert results(shown)[3] == "filtered"
    assert results(shown)[5] == "rejected"
    assert shown.rows[0].before == ("1", " Ann ", "-1.5")
    assert shown.rows[0].after == (1, "Ann", "-1.50", "-3.00")


def test_a_source_shows_records_that_it_cannot_read(world: World, mixed) -> None:
    shown = preview(world, mixed, "src")
    (cut,) = (row for row in shown.rows if row.record == 7)
    assert (cut.result, cut.raw, cut.before) == ("rejected", "7,Eve", None)
    assert [column.nulls for column in shown.before] == [0, 1, 0]


def test_a_value_of_another_type_is_marked_where_no_row_is_rejected_for_it(world: World) -> None:
    world.write("a", "id,n\n1,x\n2,3\n")
    document = world.document(columns=[{"name": "n", "type": "integer"}], ops=[{"op": "drop", "columns": ["n"]}])
    rows = preview(world, document, "src").rows
    assert [(row.result, row.after, row.unreadable) for row in rows] == [
        ("passed", ("1", None), ("n",)),
        ("passed", ("2", 3), ()),
    ]


def test_a_later_node_with_an_error_is_left_out(world: World) -> None:
    world.write("a", "id\n1\n")
    shown = preview(world, world.document(ops=[{"op": "drop", "columns": ["gone"]}]), "src")
    assert after(shown) == [{"id": "1"}]
    assert shown.notes == (
        "Nodes after src are ignored, because shape has an error: drop (op 1): there is no column 'gone'.",
    )


def test_the_error_of_the_node_is_reported(world: World) -> None:
    world.write("a", "id\n1\n")
    with pytest.raises(Failure) as raised:
        preview(world, world.document(ops=[{"op": "drop", "columns": ["gone"]}]), "shape")
    assert (raised.value.code, raised.value.node) == ("column.unknown", "shape")


def test_an_expression_that_fails_names_its_row(world: World) -> None:
    world.write("a", "id,n\n1,2\n2,0\n")
    document = world.document(ops=[{"op": "derive", "columns": {"d": "1 / cast(n as int)"}}])
    with pytest.raises(ExpressionFailed, match="The first failing row is in/a record 2"):
        preview(world, document, "shape")
    assert len(preview(world, document, "src").rows) == 2


# --- what is read -------------------------------------------------------------------------------------------------


def numbers(count: int) -> str:
    return "id,name\n" + "".join(f"{n},{'' if n % 700 == 0 else 'x'}\n" for n in range(1, count + 1))


def test_the_first_rows_are_read_and_no_more(world: World) -> None:
    world.write("a.csv", numbers(3000))
    shown = preview(world, world.document(), "check")
    assert (shown.rows_read, len(shown.rows), shown.rows[-1].record) == (1000, 200, 200)
    assert shown.extent == "The first 1,000 rows of in/a.csv."


def test_random_rows_are_the_same_for_the_same_seed(world: World) -> None:
    world.write("a.csv", numbers(3000))
    one, same, other = (
        [row.record for row in preview(world, world.document(), "src", "random", seed=seed).rows] for seed in (1, 1, 2)
    )
    assert one == same != other
    assert max(one) > 300
    assert (
        preview(world, world.document(), "src", "random").extent == "1,000 random rows of all 3,000 rows of in/a.csv."
    )


def test_failing_rows_are_looked_for_beyond_the_first_ones(world: World) -> None:
    world.write("a.csv", numbers(3000))
    shown = preview(world, world.document(rules=[RULES[0]]), "check", "failing")
    assert [row.record for row in shown.rows] == [700, 1400, 2100, 2800]
    assert (shown.rows_read, shown.rows_rejected) == (3000, 4)


@pytest.mark.parametrize("format", FORMATS)
def test_of_a_large_file_only_the_start_is_read(world: World, monkeypatch, format: str) -> None:
    monkeypatch.setattr(source, "MOST_BYTES", dict.fromkeys(source.MOST_BYTES, 1000))
    world.write("a", FORMATS[format]([{"id": n, "name": f"Nüm{n}"} for n in range(1, 400)]))
    shown = preview(world, world.document(format=format), "src", "random")
    assert {row.before[1] for row in shown.rows} <= {f"Nüm{n}" for n in range(1, 400)}
    if format != "parquet":  # a preview reads one row group at least
        assert shown.extent.startswith(f"{shown.rows_read} random rows of the first {shown.rows_read} rows of in/a")
        assert 20 < shown.rows_read < 110


def test_a_large_file_of_another_encoding_is_read_from_its_start(world: World, monkeypatch) -> None:
    monkeypatch.setattr(source, "MOST_BYTES", dict.fromkeys(source.MOST_BYTES, 1000))
    world.write("a", numbers(400).replace("x", "ß").encode("utf-16"))
    document = world.document(source={"format": {"type": "csv", "encoding": "utf-16"}})
    rows = preview(world, document, "src").rows
    assert rows[0].before == ("1", "ß")
    assert 50 < len(rows) < 110


@pytest.mark.parametrize("sample", source.MOST_BYTES)
def test_few_rows_of_a_table_are_read(world: World, monkeypatch, sample) -> None:
    monkeypatch.setattr(
        source, "_LIMITS", {kind: source.RowLimit(20, 90 if kind == "random" else None) for kind in source.MOST_BYTES}
    )
    world.sql("create table s (id int, day date)")
    world.sql("insert into s select n, date '2026-01-01' + n from generate_series(1, 500) n")
    document = world.table_document(rules=[{"type": "range", "field": "id", "min": 500, "onFail": "skip"}])
    shown = preview(world, document, "check", sample)
    assert (shown.rows_read, len(shown.rows), shown.rows_rejected) == (20, 20, 20)
    assert [column.type for column in shown.before] == ["integer", "date"]
    assert all(row.before[0] <= 90 for row in shown.rows)


def test_long_values_are_cut_and_large_rows_left_out_after_they_were_counted(world: World, monkeypatch) -> None:
    monkeypatch.setattr(node_rows, "MOST_BYTES", 20_000)
    world.write("a", "id,name\n" + "".join(f"{n},{'x' * (10_000 + n)}\n" for n in range(1, 101)))
    shown = preview(world, world.document(rules=[RULES[1]]), "check")
    assert shown.rows[0].before == ("1", f"{'x' * 500}… (10,001 characters)")
    assert (shown.rows_in, shown.rules[0].violations) == (100, 100)
    assert 5 < len(shown.rows) < 30
    assert [(column.values, column.distinct) for column in shown.before] == [(len(shown.rows), len(shown.rows))] * 2


def test_a_preview_leaves_everything_as_it_was(world: World) -> None:
    world.write("a", "id,name\n1,Ann\n")
    atomicity = {"stagingFolder": ".doing", "successFolder": "done", "failureFolder": "failed"}
    preview(world, world.document(source={"atomicity": atomicity}, rules=[RULES[0]]), "load")
    assert [file.name for file in (world.folder / "in").iterdir()] == ["a"]
    assert world.sql("select to_regclass('t'), to_regclass('rejected')") == [(None, None)]
    assert (world.memory.steps, world.memory.states, world.memory.commits) == ([], {}, {})


def test_a_preview_that_was_replaced_ends_with_why(world: World) -> None:
    world.write("a", "id,name\n1,Ann\n")
    world.memory.stop = Cancelled("preview.replaced", "A newer preview took its place.")
    with pytest.raises(Cancelled, match="newer"):
        preview(world, world.document(), "src")
