"""The working columns after all ops, and the errors before reading."""

from __future__ import annotations

import pytest

from executors.errors import Terminal
from executors.model import SourceField
from executors.spark.columns import compile_path
from executors.spark.compiled import Derive, RunPrograms
from executors.spark.session import RunSession
from ir.types import STRING, ColumnType
from tests.executors.spark.paths import make_path

FIELDS = (SourceField("id", STRING), SourceField("amount", STRING), SourceField("a.b `c`", STRING))


def planned(run_session: RunSession, *ops: dict, **path: object) -> dict[str, str]:
    return {field.name: str(field.type) for field in compile_path(run_session, make_path(*ops, **path), FIELDS).fields}


def refused(run_session: RunSession, *ops: dict, **path: object) -> Terminal:
    with pytest.raises(Terminal) as caught:
        compile_path(run_session, make_path(*ops, **path), FIELDS)
    return caught.value


def test_without_ops_the_columns_are_those_of_the_source(run_session: RunSession) -> None:
    assert planned(run_session) == {"id": "string", "amount": "string", "a.b `c`": "string"}


def test_declared_types_count(run_session: RunSession) -> None:
    assert planned(run_session, columns=[{"name": "id", "type": "integer"}])["id"] == "integer"


def test_rename_exchanges_names_at_once(run_session: RunSession) -> None:
    ops = {"op": "cast", "columns": {"id": "bigint"}}, {"op": "rename", "columns": {"id": "amount", "amount": "id"}}
    assert planned(run_session, *ops) == {"amount": "bigint", "id": "string", "a.b `c`": "string"}


def test_select_orders_and_drop_leaves_out(run_session: RunSession) -> None:
    ops = {"op": "select", "columns": ["amount", "id"]}, {"op": "drop", "columns": ["id"]}
    assert list(planned(run_session, *ops)) == ["amount"]


def test_every_expression_of_a_derive_sees_the_columns_before_it(run_session: RunSession) -> None:
    ops = {"op": "cast", "columns": {"id": "integer"}}, {"op": "derive", "columns": {"id": "amount", "old": "id + 1"}}
    assert planned(run_session, *ops) == {"id": "string", "amount": "string", "a.b `c`": "string", "old": "integer"}


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("cast(amount as decimal(12,2))", "decimal(12,2)"),
        ("cast(id as bigint) / 2", "float"),
        ("to_date(amount)", "date"),
        ("to_timestamp(amount)", "timestamp"),
        ("id = amount", "boolean"),
        ("length(`a.b ``c```)", "integer"),
    ],
)
def test_an_expression_gives_its_type(run_session: RunSession, expression: str, kind: str) -> None:
    assert planned(run_session, {"op": "derive", "columns": {"x": expression}})["x"] == kind


def test_bookkeeping_needs_no_stage(run_session: RunSession) -> None:
    path = make_path(
        {"op": "trim", "columns": ["id"]},
        {"op": "cast", "columns": {"id": "integer"}},
        {"op": "fillNull", "columns": {"id": 0}},
        {"op": "rename", "columns": {"id": "key"}},
        {"op": "select", "columns": ["key"]},
    )
    assert compile_path(run_session, path, FIELDS).stages == ()


def test_what_an_expression_needs_typed_is_typed_by_the_reader(run_session: RunSession) -> None:
    path = make_path({"op": "filter", "where": "id > 1"}, columns=[{"name": "id", "type": "integer"}])
    compiled = compile_path(run_session, path, FIELDS)
    assert [program.base for program in compiled.read] == ["s0"]
    assert compiled.sink_programs() == ()


def test_a_cast_of_a_computed_column_runs_between_expressions(run_session: RunSession) -> None:
    path = make_path(
        {"op": "derive", "columns": {"x": "concat(id, amount)"}},
        {"op": "cast", "columns": {"x": "bigint"}},
        {"op": "derive", "columns": {"y": "x + 1"}},
    )
    assert [type(stage) for stage in compile_path(run_session, path, FIELDS).stages] == [Derive, RunPrograms, Derive]


def test_a_cast_that_nothing_uses_is_not_tried(run_session: RunSession) -> None:
    path = make_path({"op": "cast", "columns": {"id": "integer"}}, {"op": "drop", "columns": ["id"]})
    assert compile_path(run_session, path, FIELDS).sink_flags() == ()


def test_types_that_spark_lacks_are_text_in_expressions(run_session: RunSession) -> None:
    ops = {"op": "cast", "columns": {"id": "uuid"}}, {"op": "derive", "columns": {"x": "upper(id)"}}
    assert planned(run_session, *ops) == {"id": "uuid", "amount": "string", "a.b `c`": "string", "x": "string"}


@pytest.mark.parametrize(
    ("op", "code"),
    [
        ({"op": "rename", "columns": {"Id": "x"}}, "column.unknown"),
        ({"op": "rename", "columns": {"id": "amount"}}, "column.repeated"),
        ({"op": "select", "columns": ["id", "id"]}, "column.repeated"),
        ({"op": "drop", "columns": ["id", "amount", "a.b `c`"]}, "column.none_left"),
        ({"op": "derive", "columns": {"x": "nothing + 1"}}, "column.unknown"),
        ({"op": "derive", "columns": {"x": "array(id)"}}, "expression.type"),
        ({"op": "derive", "columns": {"x": "reflect('java.lang.System', 'exit')"}}, "expression.not_allowed"),
        ({"op": "derive", "columns": {"x": "id + array(1)"}}, "expression.invalid"),
        ({"op": "derive", "columns": {"x": "id +"}}, "expression.malformed"),
        ({"op": "filter", "where": "amount"}, "filter.not_boolean"),
        ({"op": "fillNull", "columns": {"id": 0}}, "fillNull.type"),
    ],
)
def test_a_refusal_names_node_and_op(run_session: RunSession, op: dict, code: str) -> None:
    error = refused(run_session, {"op": "trim", "columns": ["id"]}, op)
    assert (error.code, error.node) == (code, "shape")
    assert f"{op['op']} (op 2)" in error.message


def test_an_expression_that_computes_with_text_gets_the_hint_to_cast_it(run_session: RunSession) -> None:
    error = refused(run_session, {"op": "derive", "columns": {"x": "amount / id"}})
    assert error.code == "expression.invalid"
    assert error.hint == (
        "In it amount is string, id is string. Cast what is a number or a date, as in CAST(`amount` AS DOUBLE)."
    )


def test_who_compares_what_cannot_be_compared_is_reported_the_types(run_session: RunSession) -> None:
    ops = {"op": "cast", "columns": {"id": "integer"}}, {"op": "filter", "where": "id > array(1)"}
    assert refused(run_session, *ops).hint == "In it id is integer. Cast where the types do not fit each other."


def test_an_unknown_column_is_reported_with_those_that_exist(run_session: RunSession) -> None:
    assert refused(run_session, {"op": "trim", "columns": ["x"]}).hint == "The columns here are id, amount, a.b `c`."


def test_a_declared_column_that_the_source_lacks_is_refused(run_session: RunSession) -> None:
    error = refused(run_session, columns=[{"name": "x", "type": "integer"}])
    assert (error.code, error.node) == ("source.column_missing", "orders")


def test_trim_is_refused_on_numbers(run_session: RunSession) -> None:
    ops = {"op": "cast", "columns": {"id": "integer"}}, {"op": "trim", "columns": ["id"]}
    assert refused(run_session, *ops).code == "trim.type"


@pytest.mark.parametrize(
    ("kind", "value", "fits"),
    [
        ("integer", 5, True),
        ("integer", 2**31, False),
        ("integer", 1.5, False),
        ("integer", True, False),
        ("bigint", "9007199254740993", True),
        ("float", 1, True),
        ("decimal(4,2)", 1.25, True),
        ("decimal(4,2)", 1.255, False),
        ("boolean", False, True),
        ("boolean", "no", False),
        ("date", "2024-02-30", False),
        ("date", "2024-02-29", True),
        ("string", "x", True),
        ("string", 1, False),
    ],
)
def test_fill_null_takes_values_of_the_columns_type_only(
    run_session: RunSession, kind: str, value: object, fits: bool
) -> None:
    ops = {"op": "cast", "columns": {"id": kind}}, {"op": "fillNull", "columns": {"id": value}}
    if fits:
        assert planned(run_session, *ops)["id"] == str(ColumnType.parse(kind))
    else:
        assert refused(run_session, *ops).code == "fillNull.type"
