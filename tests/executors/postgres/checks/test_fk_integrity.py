"""`fkIntegrity`."""

from __future__ import annotations

import pytest

from executors.errors import Terminal
from ir.checks import FkIntegrity


def fk(schema, column="c", ref_column="id", table="ref"):
    return FkIntegrity(column=column, ref_table=f"{schema}.{table}", ref_column=ref_column, on_fail="warn")


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
def test_rows_without_their_reference_are_counted(loading, checking, make, schema, staged, referenced, present, absent):
    make(f"CREATE TABLE t (c {staged})")
    make(f"CREATE TABLE ref (id {referenced})")
    make(f"INSERT INTO ref VALUES ('{present}'), (NULL)")
    load = loading("t", f"c {staged if staged != 'text' else 'string'}")
    load.stage([(present,), (absent,), (absent,), (None,)])
    report = checking.run(load, fk(schema))
    assert (report.ok, report.observed) == (False, 2)
    assert report.message == f"2 rows with 1 value of 'c' that {schema}.ref.id does not have"
    assert report.subject == f"c → {schema}.ref.id"


def test_null_and_no_rows_pass(loading, checking, make, schema):
    make("CREATE TABLE t (c integer)")
    make("CREATE TABLE ref (id integer)")
    load = loading("t", "c integer")
    assert checking.run(load, fk(schema)).ok
    load.stage([(None,)])
    assert checking.run(load, fk(schema)).ok


@pytest.mark.parametrize(("table", "column"), [("nowhere", "id"), ("ref", "nothing")])
def test_a_missing_reference_is_found_out_before_the_read(staged, checking, make, schema, table, column):
    make("CREATE TABLE ref (id integer)")
    with pytest.raises(Terminal, match=r"check\.ref_missing") as raised:
        checking.probe(staged("c integer", []), fk(schema, ref_column=column, table=table))
    assert raised.value.node == "check"


def test_a_column_that_is_not_loaded_is_named_before_the_read(staged, checking, make, schema):
    make("CREATE TABLE ref (id integer)")
    with pytest.raises(Terminal, match=r"check\.column_unknown.*'other'"):
        checking.probe(staged("c integer", []), fk(schema, column="other"))


def test_a_view_of_flows_own_tables_is_no_reference(staged, checking, make, schema):
    make("CREATE VIEW v AS SELECT token FROM flow_meta.fences")
    load = staged("token bigint", [(1,)])
    check = FkIntegrity.read({"column": "token", "refTable": f"{schema}.v", "refColumn": "token", "onFail": "warn"})
    with pytest.raises(Terminal, match=r"^query\.not_allowed.*flow_meta\.fences"):
        checking.probe(load, check)
