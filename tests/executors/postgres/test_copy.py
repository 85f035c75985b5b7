"""Copies Arrow batches into staging: values of every type arrive unchanged, or are refused."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Context, Decimal

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from executors.errors import Terminal, Transient
from executors.model import StageColumn
from executors.postgres import staging
from executors.postgres.copy import StageWriter
from executors.postgres.staging import count_good, count_rejected, create_staging, drop_staging, staging_tables
from executors.types import wire_type
from ir.types import ColumnType
from tests.properties import examples

UTC = dt.UTC
EXACT = Context(prec=80)


@pytest.fixture
def staged(warehouse, conn):
    """Copy values of a type and return them as PostgreSQL writes them."""
    tables = staging_tables("copy-test", "load", 1)

    def send(kind, values):
        column = StageColumn("v", ColumnType.parse(kind))
        create_staging(conn, tables, [column])
        batch = _batch(column, values)
        with StageWriter(warehouse, tables, batch.schema, 1) as writer:
            writer.write_good(batch)
            writer.commit()
        found = conn.execute(f"SELECT v::text FROM flow_staging.{tables.good} ORDER BY _flow_record").fetchall()
        return [text for (text,) in found]

    yield send
    drop_staging(conn, tables)


def _batch(column, values):
    arrays = [
        pa.array([0] * len(values), pa.int32()),
        pa.array(range(len(values)), pa.int64()),
        pa.array(values, wire_type(column.type).arrow),
    ]
    return pa.record_batch(arrays, names=["_flow_file", "_flow_record", column.name])


@pytest.mark.parametrize(
    ("kind", "values", "texts"),
    [
        ("integer", [0, -(2**31), 2**31 - 1, None], ["0", "-2147483648", "2147483647", None]),
        ("bigint", [-(2**63), 2**63 - 1, None], ["-9223372036854775808", "9223372036854775807", None]),
        (
            "float",
            [0.1, -0.0, math.nan, math.inf, -math.inf, 5e-324, 1.7976931348623157e308, None],
            ["0.1", "-0", "NaN", "Infinity", "-Infinity", "5e-324", "1.7976931348623157e+308", None],
        ),
        ("boolean", [True, False, None], ["true", "false", None]),
        (
            "date",
            [dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(9999, 12, 31), None],
            ["0001-01-01", "1969-12-31", "9999-12-31", None],
        ),
        (
            "timestamp",
            [
                dt.datetime(1, 1, 1),
                dt.datetime(1969, 12, 31, 23, 59, 59, 1),
                dt.datetime(9999, 12, 31, 23, 59, 59, 999999),
                None,
            ],
            ["0001-01-01 00:00:00", "1969-12-31 23:59:59.000001", "9999-12-31 23:59:59.999999", None],
        ),
        (
            "timestamptz",
            [dt.datetime(1, 1, 1, tzinfo=UTC), dt.datetime(2025, 7, 1, 12, tzinfo=UTC), None],
            ["0001-01-01 00:00:00+00", "2025-07-01 12:00:00+00", None],
        ),
        ("time", [dt.time(0), dt.time(23, 59, 59, 999999), None], ["00:00:00", "23:59:59.999999", None]),
        ("binary", [b"", b"\x00\xff", None], ["\\x", "\\x00ff", None]),
        ("string", ["", "é😀", "a\n\t\\N\r", None], ["", "é😀", "a\n\t\\N\r", None]),
        ("json", ['{"a": 1}', None], ['{"a": 1}', None]),
        ("uuid", ["6F1C1F9E-0000-4000-8000-000000000001", None], ["6F1C1F9E-0000-4000-8000-000000000001", None]),
        ("pg:inet", ["anything", None], ["anything", None]),
        ("decimal(40,2)", ["1.50", None], ["1.50", None]),
    ],
)
def test_every_type_arrives_as_it_was_sent(staged, kind, values, texts):
    assert staged(kind, values) == texts


@st.composite
def decimals(draw):
    precision = draw(st.integers(1, 38))
    scale = draw(st.integers(0, precision))
    unscaled = st.integers(-(10**precision) + 1, 10**precision - 1)
    edges = st.sampled_from([0, 1, -1, 10 ** (precision - 1), 10**precision - 1, -(10**precision) + 1])
    values = draw(st.lists(st.none() | edges | unscaled, min_size=1, max_size=20))
    return precision, scale, [None if v is None else Decimal(v).scaleb(-scale, EXACT) for v in values]


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(decimals())
def test_decimals_of_every_precision_and_scale_arrive_exactly(staged, case):
    precision, scale, values = case
    texts = [None if v is None else format(abs(v) if v == 0 else v, "f") for v in values]
    assert staged(f"decimal({precision},{scale})", values) == texts


@settings(max_examples=examples(50), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.none() | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), min_size=1))
def test_any_text_arrives_as_it_was_sent(staged, values):
    assert staged("string", values) == values


def test_without_commit_nothing_is_kept(loading, make, warehouse, conn):
    make("CREATE TABLE t (id integer)")
    load = loading("t", "id integer")
    batch = _batch(load.columns[0], [1, 2])
    with StageWriter(warehouse, load.tables, batch.schema, 1) as writer:
        writer.write_good(batch)
    assert count_good(conn, load.tables, [1]) == count_rejected(conn, load.tables, [1]) == 0


def test_an_error_in_the_task_keeps_nothing(loading, make, warehouse, conn):
    make("CREATE TABLE t (id integer)")
    load = loading("t", "id integer")
    batch = _batch(load.columns[0], [1, 2])
    writer = StageWriter(warehouse, load.tables, batch.schema, 1)
    with pytest.raises(ZeroDivisionError), writer:
        _write_and_fail(writer, batch)
    assert count_good(conn, load.tables, [1]) == count_rejected(conn, load.tables, [1]) == 0


def _write_and_fail(writer, batch):
    writer.write_good(batch)
    raise ZeroDivisionError


def test_a_task_without_rows_opens_no_connection(loading, make, warehouse):
    make("CREATE TABLE t (id integer)")
    load = loading("t", "id integer")
    nowhere = type(warehouse)("warehouse", "no-such-host.invalid", 1, "x", "x")
    with StageWriter(nowhere, load.tables, _batch(load.columns[0], []).schema, 1) as writer:
        writer.commit()


def test_a_type_that_staging_does_not_have_is_refused_before_a_row_is_sent(loading, make, warehouse):
    make("CREATE TABLE t (id integer)")
    load = loading("t", "id integer")
    wrong = _batch(StageColumn("id", ColumnType("bigint")), [1])
    with StageWriter(warehouse, load.tables, wrong.schema, 1) as writer, pytest.raises(Terminal, match="id"):
        writer.write_good(wrong)


def test_a_value_that_binary_copy_refuses_is_not_reported(loading, make, warehouse):
    make("CREATE TABLE t (v text)")
    load = loading("t", "v")
    batch = _batch(load.columns[0], ["secret\0value"])
    with StageWriter(warehouse, load.tables, batch.schema, 1) as writer:
        writer.write_good(batch)
        with pytest.raises(Terminal, match=r"target\.value_refused") as raised:
            writer.commit()
        assert "secret" not in f"{raised.value}{raised.value.__cause__}"


def test_a_dropped_staging_table_stops_a_late_task(loading, make, warehouse, conn):
    make("CREATE TABLE t (id integer)")
    load = loading("t", "id integer")
    drop_staging(conn, load.tables)
    batch = _batch(load.columns[0], [1])
    with StageWriter(warehouse, load.tables, batch.schema, 1) as writer, pytest.raises((Terminal, Transient)):
        writer.write_good(batch)


def test_rejects_and_good_rows_of_a_task_are_counted_by_winner(loading, make, conn):
    make("CREATE TABLE t (id integer)")
    load = loading("t", "id integer")
    load.stage([(1,), (2,)], task=1)
    load.stage([(1,), (2,)], task=2, wins=False)
    load.reject({"record": 3}, {"record": 3, "rule_id": "r2"}, {"record": 4, "disposition": "loaded"}, task=3)
    assert (count_good(conn, load.tables, [1, 3]), count_rejected(conn, load.tables, [1, 3])) == (2, 1)
    owner = conn.execute("SELECT obj_description(%s::regclass)", [f"flow_staging.{load.tables.good}"]).fetchone()
    assert json.loads(owner[0])["run"] == load.run.run_id


def _tables_like(conn, name):
    found = conn.execute("SELECT relname FROM pg_class WHERE relkind = 'r' AND starts_with(relname, %s)", [name])
    return {table for (table,) in found.fetchall()}


def test_a_task_fills_a_table_of_its_own_that_goes_with_the_pair(loading, make, conn):
    make("CREATE TABLE t (id integer)")
    load = loading("t", "id integer")
    load.stage([(1,)], task=1)
    load.stage([(2,)], task=2)
    good = load.tables.good
    assert _tables_like(conn, good) == {good, f"{good}_1", f"{good}_2"}
    drop_staging(conn, load.tables)
    assert _tables_like(conn, good) == set()


def test_a_task_that_does_not_commit_leaves_no_table(loading, make, warehouse, conn):
    make("CREATE TABLE t (id integer)")
    load = loading("t", "id integer")
    batch = _batch(load.columns[0], [1])
    with StageWriter(warehouse, load.tables, batch.schema, 1) as writer:
        writer.write_good(batch)
    assert _tables_like(conn, load.tables.good) == {load.tables.good}


def test_nobody_else_may_read_what_a_task_has_staged(loading, make, conn):
    make("CREATE TABLE t (id integer)")
    load = loading("t", "id integer")
    load.stage([(1,)], task=1)
    granted = conn.execute(
        "SELECT count(*) FROM pg_class c, aclexplode(c.relacl) AS a WHERE c.relname = %s AND a.grantee <> c.relowner",
        [f"{load.tables.good}_1"],
    ).fetchone()
    assert granted == (0,)


@pytest.fixture
def two_tasks(loading, make, warehouse):
    """Two tasks. The first one is paused between its last row and its commit."""
    make("CREATE TABLE t (id integer)")
    load = loading("t", "id integer")
    batch = _batch(load.columns[0], [1])
    with (
        StageWriter(warehouse, load.tables, batch.schema, 1) as paused,
        StageWriter(warehouse, load.tables, batch.schema, 2) as other,
    ):
        paused.write_good(batch)
        other.write_good(batch)
        yield paused, other, lambda: paused._good.finish()


def test_a_task_does_not_wait_for_ever_for_one_that_is_paused(two_tasks, monkeypatch):
    monkeypatch.setattr(staging, "ATTACH_WAITS", "300ms")
    _, other, pause = two_tasks
    pause()
    with pytest.raises(Transient, match=r"target\.lock_timeout"):
        other.commit()


def test_a_task_that_is_paused_before_its_commit_is_ended_and_others_go_on(two_tasks, monkeypatch):
    monkeypatch.setattr(staging, "ATTACHED_IDLES", "300ms")
    paused, other, pause = two_tasks
    pause()
    other.commit()
    with pytest.raises(Transient, match=r"target\.lost"):
        paused._good.commit()


def test_staging_that_is_dropped_while_a_task_writes_keeps_nothing_of_it(loading, make, warehouse, conn):
    make("CREATE TABLE t (id integer)")
    load = loading("t", "id integer")
    batch = _batch(load.columns[0], [1])
    with StageWriter(warehouse, load.tables, batch.schema, 1) as writer:
        writer.write_good(batch)
        drop_staging(conn, load.tables)
        with pytest.raises((Terminal, Transient)):
            writer.commit()
    assert _tables_like(conn, load.tables.good) == set()
