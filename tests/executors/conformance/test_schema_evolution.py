"""Columns that change at the source: the table follows in the load's transaction, or the load is refused."""

from __future__ import annotations

import datetime
import io
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from executors.errors import Failure, Terminal, Transient
from executors.schema_changes import SchemaRefused
from tests.executors.conformance.world import World, reconciles, target_of

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

MODES = ("append", "truncate", "upsert", "blue_green", "incremental_watermark")


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def following(document: dict[str, Any], policy: str = "evolve", **source: Any) -> dict[str, Any]:
    document["nodes"][0] |= {"schemaPolicy": policy, **source}
    return document


def columns(world: World, table: str = "t") -> dict[str, str]:
    found = world.sql(
        "select attname, format_type(atttypid, atttypmod) from pg_attribute where attrelid = %s::regclass"
        " and attnum > 0 and not attisdropped and attname !~ '^_' order by attnum",
        f"{world.schema}.{table}",
    )
    return dict(found)


def parquet(**values: tuple[str, Sequence[Any]]) -> bytes:
    out = io.BytesIO()
    types = {name: pa.type_for_alias(kind) for name, (kind, _) in values.items()}
    pq.write_table(pa.table({name: pa.array(rows, types[name]) for name, (_, rows) in values.items()}), out)
    return out.getvalue()


def accepted(world: World, document: Mapping[str, Any], refused: SchemaRefused) -> Any:
    from executors.runs.load import run_pipeline

    job = world.job(document, accepted_changes={"load": refused.open})
    return run_pipeline(job, world.memory.ports())


def test_a_rejected_change_is_not_followed_once_the_policy_is_evolve(world: World) -> None:
    from executors.runs.load import run_pipeline

    world.write("a", "id\n1\n")
    document = following(world.document(columns=[{"name": "id", "type": "integer"}]), policy="ask")
    world.run(document)
    world.write("b", "id,extra\n2,x\n")
    with pytest.raises(SchemaRefused) as pending:
        world.run(document)
    document["nodes"][0]["schemaPolicy"] = "evolve"
    job = world.job(document, rejected_changes={"load": pending.value.open})
    with pytest.raises(SchemaRefused, match=r"schema\.change_rejected"):
        run_pipeline(job, world.memory.ports())
    assert (columns(world), world.rows("id")) == ({"id": "integer"}, [(1,)])


# --- a new column ---------------------------------------------------------------------------------------------


def test_a_new_column_is_added_in_each_mode(world: World, mode: str) -> None:
    world.write("a", "id,name\n1,Ann\n2,Bob\n")
    document = following(world.document(mode=mode, columns=[{"name": "id", "type": "integer"}]))
    world.run(document)
    world.sql("create view v as select id, name from t; grant select on t to public")
    world.write("b", "id,Größe ü,name\n3,XL,Cy\n")
    report = world.run(document)
    assert columns(world)["Größe ü"] == "text"
    assert world.rows('id, name, "Größe ü"') == [(1, "Ann", None), (2, "Bob", None), (3, "Cy", "XL")]
    assert world.sql("select count(*) from v") == [(3,)]
    assert world.sql("select has_table_privilege('public', 't', 'select')") == [(True,)]
    assert reconciles(report)
    assert [warning.code for warning in report.warnings] == ["schema.changed"]
    assert 'ADD COLUMN "Größe ü" text' in report.warnings[0].message
    world.write("c", "id,name,Größe ü\n4,Di,S\n")
    assert not world.run(document).warnings
    assert world.sql("select count(*) from t") == [(4,)]


def test_a_new_column_stops_a_load_of_a_frozen_source_until_it_is_accepted(world: World) -> None:
    world.sql("create table t (id text)")
    world.write("a", "id,extra\n1,x\n")
    document = following(world.document(), "freeze")
    with pytest.raises(SchemaRefused, match="no column 'extra'") as refused:
        world.run(document)
    assert refused.value.code == "target.column_unknown"
    assert [(change.kind, change.column) for change in refused.value.changes] == [("add", "extra")]
    assert columns(world) == {"id": "text"}
    accepted(world, document, refused.value)
    assert world.rows("id, extra") == [("1", "x")]


def test_ask_loads_nothing_until_exactly_this_change_is_accepted(world: World) -> None:
    world.sql("create table t (id text)")
    world.write("a", "id,extra\n1,x\n")
    document = following(world.document(), "ask")
    with pytest.raises(SchemaRefused, match="'extra'") as refused:
        world.run(document)
    assert (refused.value.code, world.rows("id")) == ("schema.change_pending", [])
    world.write("b", "id,extra,more\n2,y,z\n")
    with pytest.raises(SchemaRefused, match="'more'") as other:
        accepted(world, document, refused.value)
    assert world.rows("id") == []
    both = SchemaRefused("x", "", (), refused.value.open | other.value.open, node="load", hint="")
    accepted(world, document, both)
    assert world.rows("id, extra, more") == [("1", "x", None), ("2", "y", "z")]


NAMES = ["select", "with space", 'quo"te', "ü" * 31, "a;drop table t--", "100%", "%s"]


@pytest.mark.slow
def test_a_new_column_may_have_any_name_that_a_column_can_have(world: World) -> None:
    world.sql("create table t (id int)")
    quoted = ['"' + name.replace('"', '""') + '"' for name in NAMES]
    world.write("a", f"id,{','.join(quoted)}\n1,{','.join('abcdefg')}\n")
    world.run(following(world.document()))
    assert list(columns(world)) == ["id", *NAMES]
    (values,) = world.sql("select to_jsonb(t) from t")[0]
    assert [values[name] for name in NAMES] == list("abcdefg")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("_flow_run", "source.column_reserved"),
        ("_source_file_hash", "target.column_reserved"),
        ("ctid", "target.column_reserved"),
        ("ü" * 32, "target.name_unusable"),
        ("total", "target.column_generated"),
        ("ID", "schema.incompatible"),
    ],
)
def test_a_new_column_that_no_load_can_add_is_refused(world: World, header: str, code: str) -> None:
    world.sql("create table t (id int, total int generated always as (id * 2) stored)")
    world.write("a", f"id,{header}\n1,2\n")
    with pytest.raises(Terminal) as refused:
        world.run(following(world.document()))
    assert refused.value.code == code
    assert columns(world) == {"id": "integer", "total": "integer"}
    assert world.rows("id") == []


@pytest.mark.slow
def test_a_table_with_the_most_columns_gets_no_other(world: World) -> None:
    world.sql(f"create table t (id int, {', '.join(f'c{i} int' for i in range(1599))})")
    world.write("a", "id,extra\n1,2\n")
    with pytest.raises(Terminal, match="1,600 columns") as refused:
        world.run(following(world.document()))
    assert refused.value.code == "schema.not_possible"


@pytest.mark.slow
def test_a_table_of_another_role_is_not_altered(world: World, server: Any) -> None:
    from dataclasses import replace

    from executors.postgres.client import connect
    from tests.roles import new_role

    world.sql("create table t (id int)")
    owner = f"owner_{world.schema}"
    admin = replace(server, database=world.warehouse.database)
    with closing(connect(admin, autocommit=True)) as session, new_role(session, owner):
        session.execute(f"alter table {world.schema}.t owner to {owner}")
        session.execute(f"grant insert, select on {world.schema}.t to {world.warehouse.user}")
        world.write("a", "id,extra\n1,2\n")
        with pytest.raises(Terminal, match=f"only its owner {owner} may alter it") as refused:
            world.run(following(world.document()))
        assert 'ADD COLUMN "extra" text;' in refused.value.hint
        session.execute(f"drop table {world.schema}.t")


@pytest.mark.slow
def test_a_new_column_of_a_table_that_a_load_has_just_created(world: World) -> None:
    world.write("a", "id,extra\n1,x\n")
    world.run(following(world.document(columns=None) | {}, "evolve"))
    assert columns(world) == {"id": "text", "extra": "text"}


@pytest.mark.slow
def test_declared_columns_of_a_new_table_are_completed(world: World) -> None:
    world.write("a", "id,extra\n1,x\n")
    document = following(world.document())
    document["nodes"][-1]["columns"] = [{"name": "id", "type": "integer"}]
    world.run(document)
    assert columns(world) == {"id": "integer", "extra": "text"}
    assert world.rows("id, extra") == [(1, "x")]


# --- a dropped column -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_dropped_column_stays_and_is_reported_once(world: World, mode: str) -> None:
    document = following(world.document(mode=mode, columns=[{"name": "id", "type": "integer"}]))
    world.write("a", "id,name,old\n1,Ann,x\n")
    world.run(document)
    if mode in ("truncate", "blue_green"):
        (world.folder / "in" / "a").unlink()
    world.write("b", "name,id\nBob,2\n")
    report = world.run(document)
    assert ("Bob", None) in world.sql("select name, old from t")
    assert [warning.message for warning in report.warnings if warning.code == "schema.changed"] == [
        "The source no longer has column 'old'; it stays in the table, and new rows have its default or NULL."
    ]
    world.write("c", "name,id\nCy,3\n")
    assert not world.run(document).warnings


@pytest.mark.slow
def test_a_dropped_column_that_must_have_a_value_is_refused(world: World) -> None:
    world.sql("create table t (id int, old text not null)")
    document = following(world.document())
    world.write("a", "id,old\n1,x\n")
    world.run(document)
    world.write("b", "id\n2\n")
    with pytest.raises(Terminal) as refused:
        world.run(document)
    assert refused.value.code == "target.column_required"


# --- types ----------------------------------------------------------------------------------------------------


def test_a_wider_type_widens_the_column_in_each_mode(world: World, mode: str) -> None:
    document = following(world.document(mode=mode, format="parquet"))
    world.write("a", parquet(id=("int64", [1]), n=("int32", [2])))
    world.run(document)
    assert columns(world)["n"] == "integer"
    world.write("b", parquet(id=("int64", [2]), n=("int64", [2**40])))
    report = world.run(document)
    assert columns(world)["n"] == "bigint"
    assert world.rows("id, n") == [(1, 2), (2, 2**40)]
    assert reconciles(report)


@pytest.mark.slow
def test_a_frozen_column_keeps_its_type_and_rejects_what_does_not_fit(world: World) -> None:
    document = following(world.document(format="parquet", onTypeMismatch="skip"), "freeze")
    world.write("a", parquet(id=("int32", [1])))
    world.run(document)
    world.write("b", parquet(id=("int64", [2, 2**40])))
    report = world.run(document)
    assert (columns(world)["id"], target_of(report).rows_rejected) == ("integer", 1)


@pytest.mark.slow
def test_a_view_that_reads_the_column_is_named_before_the_load(world: World) -> None:
    document = following(world.document(format="parquet"))
    world.write("a", parquet(id=("int32", [1])))
    world.run(document)
    world.sql("create view v as select id from t")
    world.write("b", parquet(id=("int64", [2])))
    with pytest.raises(Terminal, match=r"view .*v depends on column 'id'") as refused:
        world.run(document)
    assert refused.value.code == "schema.not_possible"
    assert not any(step == "pass" for step, _ in world.memory.steps[-3:])


OBSTACLES = {
    "a view of a partition": (
        "create table t (id int, extra text) partition by list (extra); create table p partition of t default;"
        " create view v as select id from p"
    ),
    "a column of the row type": "create table t (id int, extra text); create table other (x t)",
    "a column of a child": "create table t (id bigint); create table child (extra int) inherits (t)",
    "a typed table": "create type kind as (id bigint); create table t of kind",
    "a function of an index": (
        "create table t (id int, extra text); create function f(int) returns int immutable language sql as 'select $1';"
        " create index on t (f(id))"
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("obstacle", OBSTACLES)
def test_a_change_that_only_the_statement_shows_to_be_impossible_is_refused(world: World, obstacle: str) -> None:
    for statement in OBSTACLES[obstacle].split("; "):
        world.sql(statement)
    before = columns(world)
    world.write("a", parquet(id=("int64", [2**40]), extra=("string", ["x"])))
    with pytest.raises(Terminal) as refused:
        world.run(following(world.document(format="parquet")))
    assert (refused.value.code, "ALTER TABLE" in refused.value.hint) == ("schema.not_possible", True)
    assert (columns(world), world.rows("id")) == (before, [])


@pytest.mark.slow
def test_a_generated_column_that_reads_the_column_is_named(world: World) -> None:
    world.sql("create table t (id int, twice int generated always as (id * 2) stored)")
    world.write("a", parquet(id=("int64", [1])))
    with pytest.raises(Terminal, match=r"column twice of table .*t depends on column 'id'"):
        world.run(following(world.document(format="parquet")))


@pytest.mark.slow
def test_a_default_and_an_index_of_the_column_follow_its_type(world: World) -> None:
    world.sql("create table t (id int default 7 primary key, n int check (n > 0))")
    world.write("a", parquet(id=("int64", [2**40]), n=("int64", [1])))
    world.run(following(world.document(format="parquet")))
    assert columns(world) == {"id": "bigint", "n": "bigint"}


@pytest.mark.slow
@pytest.mark.parametrize("now", ["int32", "float64", "string"])
def test_a_narrower_or_other_type_is_refused_until_accepted(world: World, now: str) -> None:
    document = following(world.document(format="parquet", onTypeMismatch="skip"))
    world.write("a", parquet(id=("int64", [1])))
    world.run(document)
    values: list[Any] = {"int32": [2], "float64": [2.0, 2.5], "string": ["2", "x"]}[now]
    (world.folder / "in" / "a").unlink()
    world.write("b", parquet(id=(now, values)))
    with pytest.raises(SchemaRefused, match="was bigint at the last load") as refused:
        world.run(document)
    assert refused.value.code == "schema.incompatible"
    report = accepted(world, document, refused.value)
    assert world.rows("id") == [(1,), (2,)]
    assert target_of(report).rows_rejected == len(values) - 1
    assert columns(world) == {"id": "bigint"}


@pytest.mark.slow
def test_the_watermark_column_is_not_widened(world: World) -> None:
    document = following(world.document(mode="incremental_watermark", format="parquet"))
    world.write("a", parquet(id=("int32", [1])))
    world.run(document)
    world.write("b", parquet(id=("int64", [2])))
    with pytest.raises(Terminal, match="the watermark has the type of 'id'") as refused:
        world.run(document)
    assert refused.value.code == "schema.not_possible"


@pytest.mark.slow
def test_a_date_that_becomes_a_timestamp_stays_the_same_day(world: World) -> None:
    document = following(world.document(format="parquet"))
    world.write("a", parquet(day=("date32", [datetime.date(2026, 1, 31)])))
    world.run(document)
    (world.folder / "in" / "a").unlink()
    world.write("b", parquet(day=("timestamp[us]", [datetime.datetime(2026, 2, 1, 12)])))
    world.run(document)
    assert world.rows("day") == [(datetime.datetime(2026, 1, 31),), (datetime.datetime(2026, 2, 1, 12),)]


# --- renames and keys -----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["append", "truncate", "upsert"])
def test_a_declared_rename_renames_the_column_once(world: World, mode: str) -> None:
    document = following(world.document(mode=mode, columns=[{"name": "id", "type": "integer"}]))
    world.write("a", "id,name\n1,Ann\n")
    world.run(document)
    world.sql("create view v as select name from t")
    (world.folder / "in" / "a").unlink()
    world.write("b", "id,full name\n2,Bob\n")
    renaming = following(document, renamed={"full name": "name"})
    world.run(renaming)
    assert list(columns(world)) == ["id", "full name"]
    assert world.sql("select name from v where name = 'Bob'") == [("Bob",)]
    world.write("c", "id,full name\n3,Cy\n")
    assert not world.run(renaming).warnings


@pytest.mark.slow
def test_a_file_with_the_former_name_does_not_bring_the_column_back(world: World) -> None:
    world.sql("create table t (id int, name text)")
    renaming = following(world.document(), renamed={"title": "name"})
    world.write("a", "id,title\n1,Ann\n")
    world.run(renaming)
    world.write("b", "id,name\n2,Bob\n")
    with pytest.raises(SchemaRefused, match="former name of 'title'") as refused:
        world.run(renaming)
    assert refused.value.code == "schema.incompatible"
    assert world.rows("id, title") == [(1, "Ann")]


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "why"), [("blue_green", "blue_green"), ("incremental_watermark", "watermark")])
def test_a_rename_that_a_mode_cannot_follow_says_what_to_run(world: World, mode: str, why: str) -> None:
    world.sql("create table t (id int, name text)")
    world.write("a", "id,title\n1,Ann\n")
    with pytest.raises(Terminal, match=why) as refused:
        world.run(following(world.document(mode=mode), renamed={"title": "name"}))
    assert 'RENAME COLUMN "name" TO "title";' in refused.value.hint


@pytest.mark.slow
def test_a_key_that_the_table_does_not_have_is_never_followed(world: World) -> None:
    world.sql("create table t (id int primary key, region text)")
    world.write("a", "id,region\n1,x\n")
    with pytest.raises(SchemaRefused, match=r"unique keys of the table are \(id\)") as refused:
        world.run(following(world.document(mode="upsert", upsertKey=["id", "region"])))
    assert (refused.value.code, refused.value.open) == ("schema.incompatible", frozenset())


# --- safety ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_load_that_fails_after_the_change_leaves_neither(world: World, mode: str) -> None:
    world.sql("create table t (id int primary key, name text check (name <> 'bad'))")
    world.write("a", "id,name,extra\n1,bad,x\n")
    document = following(world.document(mode=mode))
    with pytest.raises(Failure):
        world.run(document)
    assert columns(world) == {"id": "integer", "name": "text"}
    assert world.rows("id") == []


def test_a_worker_that_dies_between_the_change_and_the_commit_leaves_neither(world: World) -> None:
    world.sql("create table t (id int)")
    world.sql(
        "create function die() returns trigger language plpgsql as $$ begin"
        " perform pg_terminate_backend(pg_backend_pid()); return null; end $$"
    )
    world.sql("create trigger die after insert on t for each statement execute function die()")
    world.write("a", "id,extra\n1,x\n")
    with pytest.raises(Transient):
        world.run(following(world.document()), run_id=(run := "00000000-0000-4000-8000-000000000007"))
    assert columns(world) == {"id": "integer"}
    world.sql("drop trigger die on t")
    world.run(following(world.document()), run_id=run, attempt=2)
    assert world.rows("id, extra") == [(1, "x")]


@pytest.mark.slow
def test_rows_that_the_table_refuses_are_rejected_while_it_gains_a_column(world: World) -> None:
    world.sql("create table t (id int primary key)")
    world.sql(
        "create function odd() returns trigger language plpgsql as"
        " $$ begin if new.id in (2) then raise exception 'even'; end if; return new; end $$"
    )
    world.sql("create trigger odd before insert on t for each row execute function odd()")
    world.write("a", "id,extra\n1,x\n2,y\n3,z\n")
    report = world.run(following(world.document(onTypeMismatch="skip")))
    assert world.rows("id, extra") == [(1, "x"), (3, "z")]
    assert target_of(report).rows_rejected == 1


@pytest.mark.slow
def test_a_preview_counts_what_would_change_and_alters_nothing(world: World, mode: str) -> None:
    world.sql("create table t (id int primary key, name text)")
    world.sql("insert into t values (1, 'Ann')")
    first = 1 if mode in ("upsert", "truncate", "blue_green") else 2
    world.write("a", f"id,name,extra\n{first},Ann,x\n3,Bob,\n")
    report = world.preview(following(world.document(mode=mode, columns=[{"name": "id", "type": "integer"}])))
    assert "would run: ALTER TABLE" in report.warnings[0].message
    if mode == "upsert":
        assert (report.effects[0].inserted, report.effects[0].updated) == (1, 1)
    if mode == "blue_green":
        keys = report.effects[0].keys
        assert keys is not None
        assert (keys.new, keys.changed, keys.columns) == (1, 1, {"extra": 1})
    assert columns(world) == {"id": "integer", "name": "text"}


@pytest.mark.slow
def test_a_load_that_a_person_approves_makes_the_change(world: World) -> None:
    from executors.holding import Held

    world.sql("create table t (id int primary key, name text)")
    world.sql("insert into t select i, 'x' from generate_series(1, 10) i")
    world.write("a", "id,name,extra\n1,Ann,x\n")
    document = following(world.document(mode="truncate", hold={"maxDecreasePct": 10}))
    with pytest.raises(Held) as held:
        world.run(document, run_id=(run := "00000000-0000-4000-8000-000000000008"))
    assert columns(world) == {"id": "integer", "name": "text"}
    from executors.runs.load import run_pipeline

    job = world.job(document, run, 2, approved={"load": held.value.staged})
    run_pipeline(job, world.memory.ports())
    assert world.rows("id, name, extra") == [(1, "Ann", "x")]


@pytest.mark.slow
def test_two_pipelines_that_add_the_same_column_both_load(world: World) -> None:
    """The second compares the columns before the first commits."""
    world.sql("create table t (id int)")
    world.write("a", "id,extra\n1,x\n")
    document = following(world.document())
    other = document | {"id": "other"}

    def first_loads(step: str, node: str | None) -> None:
        if step == "check":
            world.memory.on_step = lambda step, node: None
            world.run(other)

    world.memory.on_step = first_loads
    world.run(document)
    assert world.rows("id, extra") == [(1, "x"), (1, "x")]


@pytest.mark.slow
def test_a_column_that_was_added_with_another_type_meanwhile_is_not_used(world: World) -> None:
    world.sql("create table t (id int)")
    world.write("a", "id,extra\n1,x\n")

    def alters(step: str, node: str | None) -> None:
        if step == "check":
            world.sql("alter table t add column if not exists extra int")

    world.memory.on_step = alters
    with pytest.raises(Transient, match="'extra' is no longer as it was") as stopped:
        world.run(following(world.document()))
    assert (stopped.value.code, world.rows("id")) == ("target.altered", [])


@pytest.mark.slow
def test_readers_get_their_turn_while_a_load_waits_to_alter_the_table(world: World) -> None:
    world.sql("create table t (id int)")
    world.write("a", "id,extra\n1,x\n")
    with world.connect() as reader:
        reader.autocommit = False
        reader.execute("select count(*) from t")

        def ends(step: str, node: str | None) -> None:
            if step == "load":
                import threading

                threading.Timer(1.5, reader.rollback).start()

        world.memory.on_step = ends
        world.run(following(world.document()))
    assert world.rows("id, extra") == [(1, "x")]


@pytest.mark.slow
def test_a_replay_of_a_row_that_was_rejected_before_the_change_has_null_in_the_column(world: World) -> None:
    rules = [{"type": "notNull", "field": "name", "onFail": "skip"}]
    world.write("a", "id,name\n1,Ann\n2,\n")
    document = following(world.document(rules=rules))
    world.run(document)
    world.write("b", "id,name,extra\n3,Cy,x\n")
    world.run(document)
    from executors.model import RowsRef
    from executors.runs.replay import replay_rows

    ((entry,),) = world.sql('select id from rejected where "runId" is not null limit 1')
    world.sql('update rejected set "fixedRow" = \'{"id": "2", "name": "Bob"}\', status = \'fixed\'')
    ref = RowsRef("load", "source", ((world.schema, "rejected", (entry,)),))
    lenient = following(world.document())
    job = world.job(lenient, rows=ref)
    replay_rows(job, world.memory.ports())
    assert ("2", None) in world.sql("select id, extra from t")


@pytest.mark.parametrize("keeps_setting", [True, False])
def test_a_replay_of_a_row_that_was_rejected_before_a_rename_maps_the_former_name(
    world: World, keeps_setting: bool
) -> None:
    """The document still has `renamed`, or the rename is only in the marker of the load that has followed it."""
    from executors.model import RowsRef
    from executors.runs.replay import replay_rows

    rules = [{"type": "notNull", "field": "id", "onFail": "skip"}]
    world.write("a", "id,name\n1,Ann\n,Bob\n")
    world.run(following(world.document(rules=rules)))
    world.write("b", "id,full_name\n3,Cy\n")
    world.run(following(world.document(rules=rules), renamed={"full_name": "name"}))
    ((entry,),) = world.sql("select id from rejected")
    world.sql('update rejected set "fixedRow" = \'{"id": "2", "name": "Bob"}\', status = \'fixed\'')
    ref = RowsRef("load", "source", ((world.schema, "rejected", (entry,)),))
    source = {"renamed": {"full_name": "name"}} if keeps_setting else {}
    report = replay_rows(world.job(following(world.document(rules=rules), **source), rows=ref), world.memory.ports())
    assert report.row_counts == {"loaded": 1}
    assert world.rows("id, full_name") == [("1", "Ann"), ("2", "Bob"), ("3", "Cy")]


@pytest.mark.slow
def test_a_backup_from_before_the_change_is_restored_unless_values_would_be_lost(world: World) -> None:
    from executors.model import BackupRef
    from executors.runs.restore import restore_pipeline

    document = following(world.document(backupBeforeLoad=True))
    world.write("a", "id\n1\n")
    world.run(document)
    world.write("b", "id,extra\n2,x\n")
    run = "00000000-0000-4000-8000-000000000009"
    world.run(document, run_id=run)
    job = world.job(document, backup=BackupRef(run, "load"))
    with pytest.raises(Terminal, match="extra \\(1 value\\)") as refused:
        restore_pipeline(job, world.memory.ports())
    assert refused.value.code == "backup.columns_added"


@pytest.mark.slow
def test_the_strictest_policy_of_united_sources_holds(world: World) -> None:
    document = following(world.document())
    document["nodes"][0]["config"]["pattern"]["value"] = "a*"
    second = {**document["nodes"][0], "id": "src2", "schemaPolicy": "freeze"}
    second["config"] = {**second["config"], "pattern": {"type": "glob", "value": "b*"}}
    unite = {"id": "unite", "kind": "transform", "inputs": ["src", "src2"], "ops": [{"op": "union"}]}
    document["nodes"][1]["inputs"] = ["unite"]
    document["nodes"][1:1] = [second, unite]
    world.sql("create table t (id int)")
    world.write("a1", "id,extra\n1,x\n")
    world.write("b1", "id,extra\n2,y\n")
    with pytest.raises(SchemaRefused) as refused:
        world.run(document)
    assert refused.value.code == "target.column_unknown"
    second["schemaPolicy"] = "evolve"
    world.run(document)
    assert world.rows("id, extra") == [(1, "x"), (2, "y")]


@pytest.mark.slow
def test_a_column_that_a_table_of_the_source_gains_is_added_with_its_type(world: World) -> None:
    world.sql("create table s (id int)")
    world.sql("insert into s values (1)")
    document = following(world.table_document(mode="truncate"))
    world.run(document)
    world.sql(
        "alter table s add column price numeric(9,2) default 1.5, add column seen timestamptz, add column ip inet"
    )
    world.run(document)
    assert columns(world) == {
        "id": "integer",
        "price": "numeric(9,2)",
        "seen": "timestamp with time zone",
        "ip": "inet",
    }
