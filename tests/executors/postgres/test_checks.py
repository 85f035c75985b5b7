"""Dataset checks on staged rows."""

from __future__ import annotations

import pytest

from executors.errors import Terminal
from executors.postgres.checks import probe_checks, run_checks
from ir.checks import Cardinality, FkIntegrity, RowCount


def run(load, kind, check):
    (report,) = run_checks(load.conn, load.tables, load.winners, [("check", kind, check)])
    return report


def fk(schema, column="c", ref_column="id", table="ref"):
    return FkIntegrity(column=column, ref_table=f"{schema}.{table}", ref_column=ref_column, on_fail="warn")


@pytest.mark.parametrize(
    ("bounds", "message"),
    [({"min": 2, "max": 2}, None), ({"min": 3}, "2 rows, fewer than 3"), ({"max": 1}, "2 rows, more than 1")],
)
def test_row_count(loading, make, bounds, message):
    make("CREATE TABLE t (c integer)")
    load = loading("t", "c integer")
    load.stage([(1,), (None,)])
    load.stage([(1,), (2,)], task=9, wins=False)
    report = run(load, "rowCount", RowCount(on_fail="abort", **bounds))
    assert (report.ok, report.message, report.observed) == (message is None, message, 2)


def test_row_count_of_no_rows_is_zero(loading, make):
    make("CREATE TABLE t (c integer)")
    report = run(loading("t", "c integer"), "rowCount", RowCount(min=1, on_fail="warn"))
    assert (report.ok, report.observed, report.on_fail) == (False, 0, "warn")


@pytest.mark.parametrize(
    ("staged", "referenced", "present", "absent"),
    [
        ("integer", "bigint", 1, 2),
        ("text", 'text COLLATE "C"', "a", "b"),
        ("text", "varchar(3)", "a", "b"),
        ("uuid", "uuid", "6F1C1F9E-0000-4000-8000-000000000001", "6f1c1f9e-0000-4000-8000-000000000002"),
        ("integer", "text", 1, 2),
    ],
)
def test_fk_integrity_counts_rows_without_their_reference(loading, make, schema, staged, referenced, present, absent):
    make(f"CREATE TABLE t (c {staged})")
    make(f"CREATE TABLE ref (id {referenced})")
    make(f"INSERT INTO ref VALUES ('{present}'), (NULL)")
    load = loading("t", f"c {staged if staged != 'text' else 'string'}")
    load.stage([(present,), (absent,), (absent,), (None,)])
    report = run(load, "fkIntegrity", fk(schema))
    assert (report.ok, report.observed) == (False, 2)
    assert report.message == f"2 rows with 1 value of 'c' that {schema}.ref.id lacks"


def test_fk_integrity_passes_null_and_no_rows(loading, make, schema):
    make("CREATE TABLE t (c integer)")
    make("CREATE TABLE ref (id integer)")
    load = loading("t", "c integer")
    assert run(load, "fkIntegrity", fk(schema)).ok
    load.stage([(None,)])
    assert run(load, "fkIntegrity", fk(schema)).ok


@pytest.mark.parametrize(("table", "column"), [("nowhere", "id"), ("ref", "nothing")])
def test_a_missing_reference_is_found_out_before_the_read(conn, make, schema, table, column):
    make("CREATE TABLE ref (id integer)")
    with pytest.raises(Terminal, match=r"check\.ref_missing") as raised:
        probe_checks(conn, [("check", "fkIntegrity", fk(schema, ref_column=column, table=table))])
    assert raised.value.node == "check"


def test_a_column_that_is_not_loaded_is_named(loading, make, schema):
    make("CREATE TABLE t (c integer)")
    make("CREATE TABLE ref (id integer)")
    load = loading("t", "c integer")
    with pytest.raises(Terminal, match=r"check\.column_unknown.*'other'"):
        run(load, "fkIntegrity", fk(schema, column="other"))


def test_a_kind_that_cannot_run_lists_those_that_can(conn):
    with pytest.raises(Terminal) as raised:
        probe_checks(conn, [("check", "cardinality", Cardinality(column="c", on_fail="warn"))])
    assert raised.value.hint == "Available: rowCount, fkIntegrity."
