"""Reads rows from files to staging. Paths without expressions are tested both with and without the JVM."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, time
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import get_args

import pytest

from executors.destinations.postgres.staging import PostgresStagingArea
from executors.errors import Terminal
from executors.formats import csv
from executors.formats.files import LOCAL_FILES, SPLIT_BYTES
from executors.model import Connection, StageColumn
from executors.postgres.staging import StagingTables
from executors.reading import read_files
from executors.spark import one_pass
from executors.spark.columns import compile_path
from executors.spark.one_pass import PassPlan, Way, run_pass
from executors.spark.session import RunSession
from ir.types import ColumnType
from tests.executors.spark.passes import stage
from tests.executors.spark.paths import make_path

EVERY_WAY = pytest.mark.parametrize("way", get_args(Way))

ORDERS = 'id,name,amount\n1,Ann,10.5\n2,"Bob, B.",x\n3,,\n4,"",0\n'


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    return write(tmp_path, "orders.csv", ORDERS)


def write(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text)
    return file


@EVERY_WAY
def test_text_arrives_unchanged(run_session: RunSession, warehouse: Connection, orders: Path, way: Way) -> None:
    staged = stage(run_session, warehouse, make_path(), [orders], way=way)
    assert staged.rows == [("1", "Ann", "10.5"), ("2", "Bob, B.", "x"), ("3", None, None), ("4", None, "0")]


@EVERY_WAY
def test_a_declared_type_rejects_what_does_not_fit(
    run_session: RunSession, warehouse: Connection, orders: Path, way: Way
) -> None:
    path = make_path(columns=[{"name": "amount", "type": "decimal(8,2)"}], onTypeMismatch="skip")
    staged = stage(run_session, warehouse, path, [orders], way=way)
    assert [row[2] for row in staged.rows] == [Decimal("10.5"), None, Decimal(0)]
    assert staged.rejects == [
        {
            "node": "orders",
            "rule": "type:amount",
            "severity": "skip",
            "disposition": "dropped",
            "record": 2,
            "row": {"id": "2", "name": "Bob, B.", "amount": "x"},
        }
    ]


@EVERY_WAY
def test_a_cast_names_its_node_and_its_working_column(
    run_session: RunSession, warehouse: Connection, orders: Path, way: Way
) -> None:
    path = make_path(
        {"op": "rename", "columns": {"amount": "price"}},
        {"op": "cast", "columns": {"price": "float"}},
        {"op": "fillNull", "columns": {"price": 1}},
        {"op": "select", "columns": ["price", "id"]},
        onTypeMismatch="null",
    )
    staged = stage(run_session, warehouse, path, [orders], way=way)
    assert staged.rows == [(10.5, "1"), (1.0, "2"), (1.0, "3"), (0.0, "4")]
    assert staged.violations() == {"shape/type:price": 1}


@EVERY_WAY
def test_trim_comes_before_a_later_rule(
    run_session: RunSession, warehouse: Connection, tmp_path: Path, way: Way
) -> None:
    file = write(tmp_path, "a.csv", "x\n ab \n  abc\n")
    rules = [{"type": "maxLength", "field": "x", "max": 2, "onFail": "skip"}]
    path = make_path({"op": "trim", "columns": ["x"]}, rules=rules)
    staged = stage(run_session, warehouse, path, [file], way=way)
    assert (staged.rows, staged.violations()) == ([("ab",)], {"check/r0": 1})


@EVERY_WAY
def test_a_ragged_record_is_rejected_with_its_text(
    run_session: RunSession, warehouse: Connection, tmp_path: Path, way: Way
) -> None:
    file = write(tmp_path, "a.csv", "x,y\n1,2\n3\n5,6\n")
    staged = stage(run_session, warehouse, make_path(), [file], way=way)
    assert staged.rows == [("1", "2"), ("5", "6")]
    assert [(r["rule"], r["record"], r["row"]) for r in staged.rejects] == [("row", 2, {"_flow_raw": "3"})]


@EVERY_WAY
def test_files_with_other_column_orders_are_read_by_name(
    run_session: RunSession, warehouse: Connection, tmp_path: Path, way: Way
) -> None:
    files = [write(tmp_path, "a.csv", "id,name\n1,Ann\n"), write(tmp_path, "b.csv", "name,id,more\nZed,9,x\n")]
    staged = stage(run_session, warehouse, make_path(), files, way=way)
    assert staged.rows == [("1", "Ann", None), ("9", "Zed", "x")]


@EVERY_WAY
def test_a_file_without_records_gives_no_rows(
    run_session: RunSession, warehouse: Connection, tmp_path: Path, way: Way
) -> None:
    staged = stage(run_session, warehouse, make_path(), [write(tmp_path, "a.csv", "x,y\n")], way=way)
    assert (staged.rows, staged.result.total("rows_arrived")) == ([], 0)


def test_no_splits_need_no_job(run_session: RunSession) -> None:
    path = make_path()
    compiled = compile_path(run_session, path, ())
    staging = PostgresStagingArea(StagingTables("g", "r"), "")
    plan = PassPlan(path, read_files(path.source, (), LOCAL_FILES), compiled, (), (), "abort", "run")
    assert run_pass(run_session, plan, staging).tasks == ()


def test_expressions_use_typed_columns(run_session: RunSession, warehouse: Connection, orders: Path) -> None:
    path = make_path(
        {"op": "derive", "columns": {"twice": "amount * 2", "day": "date_add(to_date('2024-02-28'), id)"}},
        {"op": "filter", "where": "id <> 3"},
        columns=[{"name": "id", "type": "integer"}, {"name": "amount", "type": "float"}],
        onTypeMismatch="skip",
    )
    staged = stage(run_session, warehouse, path, [orders])
    assert staged.rows == [
        (1, "Ann", 10.5, 21.0, date(2024, 2, 29)),
        (4, None, 0.0, 0.0, date(2024, 3, 3)),
    ]
    assert staged.violations() == {"orders/type:amount": 1}


def test_expressions_that_need_no_spark_give_the_same_every_way(
    run_session: RunSession, warehouse: Connection, tmp_path: Path
) -> None:
    text = "a,b,c\n1,x,2\n3\n5,y,\nno,z,4\n7,,1\n8,w,q\n9,v,30\n,u,31\n"
    file = write(tmp_path, "a.csv", text)
    ops = (
        {"op": "derive", "columns": {"d": "concat(b, '0', c)"}},
        {"op": "filter", "where": "a <> 1 OR b = 'x'"},
        {"op": "derive", "columns": {"n": "coalesce(c, '0')"}},
        {"op": "cast", "columns": {"n": "integer"}},
        {"op": "filter", "where": "n < 31"},
    )
    rules = [
        {"type": "expression", "expression": "n BETWEEN 0 AND 2", "onFail": "warn", "when": "d IS NOT NULL"},
        {"type": "notNull", "field": "b", "onFail": "skip", "when": "a = 7"},
    ]
    columns = [{"name": "a", "type": "bigint"}]
    path = make_path(*ops, columns=columns, rules=rules, onTypeMismatch="skip")
    fused, *others = [stage(run_session, warehouse, path, [file], way=way) for way in get_args(Way)]
    assert fused.rows == [(1, "x", "2", "x02", 2), (5, "y", None, None, 0), (9, "v", "30", "v030", 30)]
    counts = [replace(task, task=0) for task in fused.result.tasks]
    for other in others:
        assert (other.rows, other.rejects) == (fused.rows, fused.rejects)
        assert [replace(task, task=0) for task in other.result.tasks] == counts


def test_a_filter_never_hides_a_value_that_could_not_be_read(
    run_session: RunSession, warehouse: Connection, orders: Path
) -> None:
    ops = {"op": "derive", "columns": {"more": "amount + 1"}}, {"op": "filter", "where": "more > 5"}
    columns = [{"name": "amount", "type": "float"}]
    staged = stage(run_session, warehouse, make_path(*ops, columns=columns, onTypeMismatch="skip"), [orders])
    assert (staged.rows, staged.violations()) == ([("1", "Ann", 10.5, 11.5)], {"orders/type:amount": 1})


def test_where_bad_values_become_null_a_filter_sees_null(
    run_session: RunSession, warehouse: Connection, orders: Path
) -> None:
    ops = {"op": "filter", "where": "amount > 5"}
    path = make_path(ops, columns=[{"name": "amount", "type": "float"}], onTypeMismatch="null")
    assert stage(run_session, warehouse, path, [orders]).rows == [("1", "Ann", 10.5)]


def test_a_filter_lets_unreadable_records_through_to_quarantine(
    run_session: RunSession, warehouse: Connection, tmp_path: Path
) -> None:
    file = write(tmp_path, "a.csv", "x,y\n1,2\n3\n0,6\n")
    path = make_path({"op": "filter", "where": "1 / x > 0.5"}, columns=[{"name": "x", "type": "integer"}])
    with pytest.raises(Terminal) as caught:
        stage(run_session, warehouse, path, [file])
    assert caught.value.code == "expression.failed"
    path = make_path({"op": "filter", "where": "x > 0"}, columns=[{"name": "x", "type": "integer"}])
    staged = stage(run_session, warehouse, path, [file])
    assert (staged.rows, [r["row"] for r in staged.rejects]) == ([(1, "2")], [{"_flow_raw": "3"}])


def test_an_expression_that_fails_names_itself_and_no_value(
    run_session: RunSession, warehouse: Connection, tmp_path: Path
) -> None:
    file = write(tmp_path, "a.csv", "a,b\nsecret,0\n")
    ops = (
        {"op": "derive", "columns": {"x": "upper(a)"}},
        {"op": "derive", "columns": {"y": "cast(a as int) + 1"}},
    )
    with pytest.raises(Terminal) as caught:
        stage(run_session, warehouse, make_path(*ops), [file])
    error = caught.value
    assert (error.code, error.node) == ("expression.failed", "shape")
    assert error.message.startswith("'cast(a as int) + 1' (derive (op 2) of shape, column 'y') failed on a row")
    assert "CAST_INVALID_INPUT." in error.message
    assert "secret" not in str(error) + error.hint


def test_a_column_computed_and_then_cast_is_validated(
    run_session: RunSession, warehouse: Connection, tmp_path: Path
) -> None:
    file = write(tmp_path, "a.csv", "a,b\n1,0\n2,x\n")
    ops = (
        {"op": "derive", "columns": {"c": "concat(a, b)"}},
        {"op": "cast", "columns": {"c": "integer"}},
        {"op": "derive", "columns": {"d": "c + 1"}},
        {"op": "select", "columns": ["c", "d"]},
    )
    staged = stage(run_session, warehouse, make_path(*ops, onTypeMismatch="skip"), [file])
    assert (staged.rows, staged.violations()) == ([(10, 11)], {"shape/type:c": 1})


def test_columns_may_be_called_anything(run_session: RunSession, warehouse: Connection, tmp_path: Path) -> None:
    file = write(tmp_path, "a.csv", '"a.b","s0","Straße `x`","ID","id"\n1,2,3,4,5\n')
    ops = {"op": "derive", "columns": {"sum": "concat(`a.b`, s0, `Straße ``x```, ID, id)"}}
    assert stage(run_session, warehouse, make_path(ops), [file]).rows == [("1", "2", "3", "4", "5", "12345")]


def test_the_target_s_type_is_reached_from_text(run_session: RunSession, warehouse: Connection, orders: Path) -> None:
    columns = [StageColumn("id", ColumnType("bigint")), StageColumn("name", ColumnType("string"), max_length=3)]
    path = make_path({"op": "select", "columns": ["id", "name"]}, onTypeMismatch="skip")
    staged = stage(run_session, warehouse, path, [orders], stage_columns=columns)
    assert staged.rows == [(1, "Ann"), (3, None), (4, None)]
    assert staged.violations() == {"load/length:name": 1}


def test_types_that_spark_lacks_serve_expressions_as_text_and_are_validated_once(
    run_session: RunSession, warehouse: Connection, tmp_path: Path
) -> None:
    key = "0b5ce2e3-6b2e-4b8e-9a36-1b4c8a1f0e11"
    file = write(tmp_path, "a.csv", f"k,n\n{key},1\n,2\nnone,3\n")
    ops = (
        {"op": "cast", "columns": {"k": "uuid"}},
        {"op": "fillNull", "columns": {"k": key.replace("0", "1")}},
        {"op": "derive", "columns": {"first": "left(k, 2)"}},
        {"op": "filter", "where": "k <> 'x'"},
        {"op": "cast", "columns": {"n": "integer"}},
        {"op": "cast", "columns": {"n": "json"}},
        {"op": "derive", "columns": {"m": "concat(n, '!')"}},
    )
    staged = stage(run_session, warehouse, make_path(*ops, onTypeMismatch="skip"), [file])
    assert [row[2:] for row in staged.rows] == [("0b", "1!"), ("1b", "2!")]
    assert staged.violations() == {"shape/type:k": 1}


def test_times_and_uuids_have_their_canonical_text_in_expressions_every_way(
    run_session: RunSession, warehouse: Connection, tmp_path: Path
) -> None:
    key, other = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12"
    text = f"k,t\n{key.upper()},10:30\n {key} ,10:30:00.000\n{other},10:30:00\n{key},10:31\nno,10:30\n{key},no\n"
    file = write(tmp_path, "a.csv", text)
    ops = (
        {"op": "filter", "where": f"k = '{key}' AND t = '10:30:00'"},
        {"op": "derive", "columns": {"both": "concat(k, ' ', t)"}},
    )
    rules = [{"type": "expression", "expression": f"k <> '{key}'", "onFail": "warn", "when": "t <= '10:30:00'"}]
    columns = [{"name": "k", "type": "uuid"}, {"name": "t", "type": "time"}]
    path = make_path(*ops, columns=columns, rules=rules, onTypeMismatch="skip")
    for way in get_args(Way):
        staged = stage(run_session, warehouse, path, [file], way=way)
        assert staged.rows == [(key, time(10, 30), f"{key} 10:30:00")] * 2
        assert staged.violations() == {"orders/type:k": 1, "orders/type:t": 1, "check/r0": 2}


def test_rows_that_deduplicate_moves_come_back_to_their_batches(
    run_session: RunSession, warehouse: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv, "scan", partial(csv.scan, split_bytes=200))
    texts = ["k,v\n" + "".join(f"{n % 90},{name}{n}\n" for n in range(900)) for name in "ab"]
    files = [write(tmp_path, f"{number}.csv", text) for number, text in enumerate(texts)]
    ops = (
        {"op": "deduplicate", "keys": ["k"]},
        {"op": "derive", "columns": {"w": "upper(v)"}},
        {"op": "deduplicate", "keys": ["w"]},
    )
    staged = stage(run_session, warehouse, make_path(*ops), files)
    assert staged.rows == [(str(n % 90), f"b{n}", f"B{n}") for n in range(810, 900)]
    assert (staged.result.total("rows_arrived"), staged.rejects) == (90, [])


def test_small_files_share_tasks_and_large_ones_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_pass, "ROWS_PER_TASK", 100)
    reading = read_files(make_path().source, (), LOCAL_FILES)
    sizes = ((50, 0, 1), (5_000, 99, 1), (5_000, 250, 3), (3 * SPLIT_BYTES, 50, 4), (5_000, 10**6, one_pass.MOST_TASKS))
    for size, records, tasks in sizes:
        assert one_pass.tasks_for(replace(reading, size=size, records=records)) == tasks
    assert one_pass.tasks_for(replace(reading, records=None)) == one_pass.MOST_TASKS
