"""Values are loaded by column name, never by position."""

from __future__ import annotations

from typing import Any

import pytest

from executors.errors import Failure, Terminal
from tests.executors.conformance.world import World

pytestmark = [pytest.mark.spark, pytest.mark.postgres, pytest.mark.every_connector]


@pytest.mark.parametrize("columns", [None, [{"name": "id", "type": "string"}, {"name": "name", "type": "string"}]])
def test_two_files_with_their_columns_in_another_order(world: World, columns: Any) -> None:
    world.sql("create table t (id text, name text)")
    world.write("f1", "id,name\n1,Ann\n")
    world.write("f2", "name,id\nZed,9\n")
    world.run(world.document(columns=columns))
    assert world.rows() == [("1", "Ann"), ("9", "Zed")]


def test_a_source_with_its_columns_in_another_order_than_the_target(world: World) -> None:
    world.sql("create table t (id text, name text, status text)")
    world.write("a", "status,id,name\nopen,1,Ann\n")
    world.run(world.document())
    assert world.rows() == [("1", "Ann", "open")]


def test_a_column_that_the_source_lacks_gets_its_default(world: World) -> None:
    world.sql("create table t (id text, name text, status text default 'new')")
    world.write("a", "name,id\nAnn,1\n")
    world.run(world.document())
    assert world.rows() == [("1", "Ann", "new")]


def test_a_required_column_that_the_source_lacks_is_refused(world: World) -> None:
    world.sql("create table t (id text, name text, status text not null)")
    world.write("a", "name,id\nAnn,1\n")
    with pytest.raises(Failure) as stopped:
        world.run(world.document())
    assert stopped.value.code == "target.column_required"
    assert "status" in stopped.value.message


NAMES = ["Order Id", "select", "ümläut", 'quo"te', "a.b", "x" * 63, "MixedCase", "back`tick", "a;drop table t--"]


def test_any_name_a_table_can_have_works(world: World) -> None:
    quoted = ['"' + name.replace('"', '""') + '"' for name in NAMES]
    world.sql(f"create table t ({', '.join(f'{name} text' for name in quoted)})")
    world.write("a", f"{','.join(quoted)}\n{','.join(map(str, range(len(NAMES))))}\n")
    report = world.run(world.document(rules=[{"type": "notNull", "field": name, "onFail": "skip"} for name in NAMES]))
    assert world.rows() == [tuple(map(str, range(len(NAMES))))]
    assert not report.warnings


def test_quoted_cells_with_breaks_quotes_and_commas_are_one_row_each(world: World) -> None:
    world.sql("create table t (id int, name text)")
    world.write("a", 'id,name\r\n1,"a\nb"\r\n2,"say ""hi"""\r\n3,"x,y"\r\n')
    world.run(world.document())
    assert world.rows() == [(1, "a\nb"), (2, 'say "hi"'), (3, "x,y")]


def test_a_record_with_too_many_cells_is_rejected_with_its_text(world: World) -> None:
    world.sql("create table t (id int, name text)")
    world.write("a", "id,name\n1,Ann\n2,Bob,extra\n3,Cy\n")
    report = world.run(world.document())
    assert world.rows() == [(1, "Ann"), (3, "Cy")]
    assert world.sql('select "sourceRecord", "ruleId" from rejected') == [(2, "row")]
    assert "2,Bob,extra" in str(world.sql('select "row" from rejected'))
    assert [w.code for w in report.warnings] == ["rows.rejected"]


def test_empty_and_missing_are_kept_apart_where_the_target_can(world: World) -> None:
    world.sql("create table t (id int, name text, code text not null)")
    world.write("a", 'id,name,code\n1,"",""\n')
    world.run(world.document())
    assert world.rows() == [(1, None, "")]


@pytest.mark.parametrize("made", ["", "create table t (id int)"])
@pytest.mark.parametrize("name", ["ctid", "tableoid"])
def test_a_name_that_postgresql_keeps_for_itself_is_refused_with_the_reason(world: World, made: str, name: str) -> None:
    if made:
        world.sql(made)
    world.write("rows.csv", f"id,{name}\n1,x\n")
    with pytest.raises(Terminal, match=rf"target\.column_reserved.*{name!r}.*system column"):
        world.run(world.document())
    assert world.sql("select to_regclass('t') is null") == [(not made,)]
    world.run(world.document(ops=[{"op": "drop", "columns": [name]}]))
    assert world.rows("id::text") == [("1",)]
