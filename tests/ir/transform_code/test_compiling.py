"""Calls of a data frame become operations of the document, or an error at their line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flow_transforms.recording import TransformError
from ir.json_schema import validator_for
from ir.ops import OPS
from ir.transform_code.codes import TRANSFORM_CODES
from ir.transform_code.compiled import CompiledTransforms, transforms_schema
from ir.transform_code.methods import ALTERNATIVES, METHODS
from tests.ir.documents_of import columns, ids, objects, ops
from tests.ir.transform_code.sources import HEAD, compile_calls, compile_text, faults_of


@pytest.mark.parametrize(
    ("calls", "made"),
    [
        ('.withColumnRenamed("a", "b")', [{"op": "rename", "columns": {"a": "b"}}]),
        ('.rename({"a": "b"})', [{"op": "rename", "columns": {"a": "b"}}]),
        ('.withColumnsRenamed({"a": "b"})', [{"op": "rename", "columns": {"a": "b"}}]),
        ('.cast({"a": "integer"})', [{"op": "cast", "columns": {"a": "integer"}}]),
        ('.withColumn("a", F.upper("b"))', [{"op": "derive", "columns": {"a": "upper(b)"}}]),
        ('.withColumns({"a": F.col("b") + 1})', [{"op": "derive", "columns": {"a": "b + 1"}}]),
        ('.filter(F.col("a") == "x")', [{"op": "filter", "where": "a = 'x'"}]),
        ('.where("a = 1")', [{"op": "filter", "where": "a = 1"}]),
        ('.drop("a", F.col("b"))', [{"op": "drop", "columns": ["a", "b"]}]),
        ('.select(["a", "b"])', [{"op": "select", "columns": ["a", "b"]}]),
        (
            '.select("a", F.upper("b").alias("c"))',
            [{"op": "derive", "columns": {"c": "upper(b)"}}, {"op": "select", "columns": ["a", "c"]}],
        ),
        ('.fillna({"a": 0})', [{"op": "fillNull", "columns": {"a": 0}}]),
        ('.fillna("", subset=["a", "b"])', [{"op": "fillNull", "columns": {"a": "", "b": ""}}]),
        ('.dropna(subset=["a", "b c"])', [{"op": "filter", "where": "a IS NOT NULL AND `b c` IS NOT NULL"}]),
        ('.union().trim("a")', [{"op": "union"}, {"op": "trim", "columns": ["a"]}]),
        ('.dropDuplicates(["a"])', [{"op": "deduplicate", "keys": ["a"]}]),
        ('.deduplicate("a", order_by="b")', [{"op": "deduplicate", "keys": ["a"], "orderBy": "b"}]),
        (
            '.join("c", on={"c_id": "id"}, how="left_outer", columns={"name": "n"})',
            [{"op": "join", "with": "c", "type": "left", "on": {"c_id": "id"}, "columns": {"name": "n"}}],
        ),
        ('.join("c", "id", "left_anti")', [{"op": "join", "with": "c", "type": "anti", "on": {"id": "id"}}]),
        ('.derive(columns={"a": "b + 1", "c": F.col("b")})', [{"op": "derive", "columns": {"a": "b + 1", "c": "b"}}]),
    ],
)
def test_a_call_is_an_operation(calls: str, made: list[dict[str, Any]]) -> None:
    assert compile_calls(calls) == made


@pytest.mark.parametrize(
    ("calls", "code", "says"),
    [
        ('.groupBy("a")', "transforms.call_refused", "no method groupBy()"),
        ('.filtre("a")', "transforms.call_refused", "Did you mean filter()?"),
        ('.withColumn("a", "b")', "transforms.call_refused", "F.lit"),
        ('.withColumn("a")', "transforms.call_refused", "missing a required argument: 'col'"),
        ('.drop(F.col("a") + 1)', "transforms.call_refused", "takes the names of columns"),
        (".fillna(0)", "transforms.call_refused", "subset"),
        ('.withColumns({"a": F.rand()})', "expression.not_allowed", "rand"),
        ('.filter("a =")', "expression.malformed", "filter, where: "),
        ('.cast({"a": "int"})', "value.malformed", "cast, columns.a: "),
        ('.trim("a", "a")', "column.repeated", "trim, columns.1: "),
        ('.deduplicate(keys=["a"], orderby="b")', "transforms.call_refused", "orderby"),
    ],
)
def test_a_fault_names_line_and_alternative(calls: str, code: str, says: str) -> None:
    ((line, found, message, hint),) = faults_of(
        f'{HEAD}@flow.pipeline("p")\ndef p(df):\n    return (\n        df.trim("z")\n        {calls}\n    )\n'
    )
    assert (line, found) == (8, code)
    assert says in message + hint


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ('df.trim("a")\n    return df.trim("b")', "trim() is not used"),
        ('df.trim("a")', "does not return"),
        ("return df", "calls no operation"),
        ("return 1", "does not return"),
    ],
)
def test_a_result_that_nothing_uses_is_a_fault(body: str, says: str) -> None:
    faults = faults_of(f'{HEAD}@flow.pipeline("p")\ndef p(df):\n    {body}\n')
    assert {fault[1] for fault in faults} == {"transforms.result_unused"}
    assert says in faults[0][2]


@pytest.mark.parametrize(
    "condition", ['F.col("a") == 1 and F.col("b")', 'not F.col("a")', '"x" in F.col("a")', "df.a == 1", "df.filter"]
)
def test_what_python_cannot_record_is_refused(condition: str) -> None:
    with pytest.raises(TransformError):
        compile_calls(f".filter({condition})")


def test_a_source_declares_nodes_of_several_pipelines() -> None:
    text = HEAD + "".join(
        f'@flow.pipeline("{pipeline}", node="{node}")\ndef f(df):\n    return df.trim("{node}")\n'
        for pipeline, node in [("a", "shape"), ("b", "shape"), ("a", "clean")]
    )
    documents = compile_text(text)
    assert [(one["pipeline_id"], [node["node"] for node in one["plan"]]) for one in documents] == [
        ("a", ["shape", "clean"]),
        ("b", ["shape"]),
    ]
    for document in documents:
        CompiledTransforms.read(document)


@pytest.mark.parametrize(("name", "code"), [("../x", "transforms.id_malformed"), ("a\\n", "transforms.id_malformed")])
def test_an_id_cannot_lead_out_of_the_folder(name: str, code: str) -> None:
    faults = faults_of(f'{HEAD}@flow.pipeline("{name}")\ndef f(df):\n    return df.trim("a")\n')
    assert [fault[1] for fault in faults] == [code]


def test_a_node_is_declared_once() -> None:
    one = '@flow.pipeline("p")\ndef f(df):\n    return df.trim("a")\n'
    assert [(fault[0], fault[1]) for fault in faults_of(HEAD + one + one)] == [(7, "transforms.repeated")]


def test_a_source_without_pipelines_is_a_fault() -> None:
    assert [fault[1] for fault in faults_of(HEAD)] == ["transforms.none"]


# --- operations by their own names --------------------------------------------------------------------------------

_more = st.one_of(
    ops,
    objects({"op": st.just("rename"), "columns": st.dictionaries(columns, columns, min_size=1, max_size=1)}),
    objects({"op": st.just("drop"), "columns": st.lists(columns, min_size=1, max_size=3, unique=True)}),
    objects(
        {"op": st.just("deduplicate"), "keys": st.lists(columns, min_size=1, max_size=2, unique=True)},
        {"orderBy": st.just("at")},
    ),
    objects({"op": st.just("join"), "with": ids, "type": st.just("semi"), "on": st.just({"a": "b"})}),
)


@given(st.lists(_more, min_size=1, max_size=4))
def test_every_operation_is_a_method_with_its_fields_as_arguments(wanted: list[dict[str, Any]]) -> None:
    lines = []
    for op in wanted:
        names = {str(field.alias): name for name, field in OPS[op["op"]].model_fields.items()}
        fields = ", ".join(f"{names[key]}={value!r}" for key, value in op.items() if key != "op")
        lines.append(f"\n        .{op['op']}({fields})")
    assert compile_calls("".join(lines)) == wanted


def test_every_operation_of_the_document_has_a_method() -> None:
    """An operation without fields in this list is generic: code passes all its fields by name."""
    refused = [name for name in OPS if name not in METHODS and name in ALTERNATIVES]
    assert refused == []


def test_the_schema_accepts_what_is_compiled() -> None:
    (document,) = compile_text(f'{HEAD}@flow.pipeline("p")\ndef p(df):\n    return df.trim("a").filter("b = 1")\n')
    validator_for(transforms_schema()).validate(document)


def test_every_code_is_shown_by_a_test() -> None:
    """Codes of sources are tested here and with `flow compile`, those of compiled files with manifests."""
    tests = [Path(__file__), *(Path(__file__).parents[2] / name for name in ("ir/manifests", "flowapp/manifests"))]
    texts = [path.read_text() for root in tests for path in ([root] if root.is_file() else root.glob("test_comp*.py"))]
    assert [code for code in TRANSFORM_CODES if not any(f'"{code}"' in text for text in texts)] == []
