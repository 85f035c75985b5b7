"""A preview reports what the next run does, and changes nothing: tables, watermarks, markers and files."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import sql

from executors.errors import Cancelled, Failure, Terminal
from executors.report import RunReport
from tests.executors.conformance.world import FORMATS, Memory, World, target_of
from tests.properties import examples
from tests.tiers import pair

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

MODES = ("append", "truncate", "upsert", "blue_green", "incremental_watermark")
FOLDERS = {"atomicity": {"stagingFolder": ".doing/", "successFolder": ".done/", "failureFolder": ".failed/"}}
ROWS = [{"id": 2, "name": "Bob"}, {"id": 3, "name": "New"}, {"id": 4, "name": None}]

TABLES = """
SELECT n.nspname, c.relname, c.oid::int FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'S') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
"""
ROWS_OF = sql.SQL("SELECT row(t.*)::text FROM {} t")


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def snapshot(world: World) -> dict[str, Any]:
    """Return every table of the database with its rows, locks and files."""
    with world.connect() as connection:
        tables = connection.execute(TABLES).fetchall()
        rows = {
            (schema, name): sorted(map(str, connection.execute(ROWS_OF.format(sql.Identifier(schema, name)))))
            for schema, name, _ in tables
            if schema == world.schema or schema.startswith("flow_")
        }
    files = {path: path.read_bytes() for path in Path(world.folder).rglob("*") if path.is_file()}
    return {"tables": sorted(tables), "rows": rows, "files": files}


def counts(report: RunReport) -> Mapping[str, Any]:
    target = target_of(report)
    numbers = {name: getattr(target, name) for name in target.__dataclass_fields__ if name.startswith("rows_")}
    rules = [(rule.rule_id, rule.violations) for rule in report.rules]
    return {**numbers, "rules": rules, "checks": report.checks}


@pytest.fixture
def filled(world: World, mode: str) -> World:
    """A table that a run has loaded, and new files."""
    world.sql("create table t (id int primary key, name text)")
    world.write("a", FORMATS["csv"]([{"id": 1, "name": "Ann"}, {"id": 2, "name": "Bobby"}]))
    world.run(world.document(mode=mode))
    world.write("a", FORMATS["csv"](ROWS[mode in ("append", "incremental_watermark") :]))
    return world


def test_it_says_what_the_run_then_does_and_changes_nothing(filled: World, mode: str) -> None:
    document = filled.document(
        mode=mode,
        rules=[{"type": "notNull", "field": "name", "onFail": "skip"}],
        checks={"rowCount": {"max": 1, "onFail": "warn"}},
    )
    states, before = dict(filled.memory.states), snapshot(filled)
    preview = filled.preview(document)
    assert snapshot(filled) == before
    assert filled.memory.states == states
    assert not filled.memory.alerts
    run = filled.run(document)
    assert counts(preview) == counts(run)
    assert {w.code for w in preview.warnings} == {w.code for w in run.warnings}
    (effect,) = preview.effects
    assert effect.after == len(filled.rows())
    assert (effect.table, effect.is_new_table) == (f"{filled.schema}.t", False)


KEYED = st.dictionaries(st.integers(1, 9), st.sampled_from(["a", "b", None]), max_size=9)


@pytest.mark.parametrize("mode", ["append", "truncate", "upsert"])
@settings(max_examples=examples(4), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(there=KEYED, coming=KEYED, repeated=st.booleans())
def test_over_any_rows_it_says_what_the_run_then_does(
    world: World, mode: str, there: dict[int, str | None], coming: dict[int, str | None], repeated: bool
) -> None:
    ident = f"p{uuid.uuid4().hex[:12]}"
    world.sql(f"create table {ident} (id int{' primary key' if mode == 'upsert' else ''}, name text)")
    for key, name in there.items():
        world.sql(f"insert into {ident} values (%s, %s)", key, name)
    rows = [*coming.items()] * (2 if repeated else 1)
    (world.folder / "in").mkdir(exist_ok=True)
    world.write("a", "id,name\n" + "".join(f"{key},{name or ''}\n" for key, name in rows))
    world.memory = Memory()
    document = {**world.document(mode=mode, table=ident, failOnEmptySource=False), "id": ident}
    if mode not in ("truncate", "blue_green"):
        del document["nodes"][-1]["failOnEmptySource"]
    preview, run = world.preview(document), world.run(document)
    assert counts(preview) == counts(run)
    (effect,) = preview.effects
    ((after,),) = world.sql(f"select count(*) from {ident}")
    assert (effect.before, effect.after) == (len(there), after)


def test_a_table_that_is_still_to_be_made_stays_so(world: World, mode: str) -> None:
    world.write("a", FORMATS["csv"]([*ROWS, {"id": 3, "name": "Newer"}]))
    world.run({**world.document(table="other"), "id": "another"})  # the load makes Flow's own tables
    world.memory = Memory()
    before = snapshot(world)
    preview = world.preview(world.document(mode=mode))
    assert snapshot(world) == before
    (effect,) = preview.effects
    assert (effect.before, effect.is_new_table, effect.table) == (0, True, f"{world.schema}.t")
    run = world.run(world.document(mode=mode))
    assert counts(preview) == counts(run)


def test_files_that_a_run_would_move_stay_where_they_are(world: World, mode: str) -> None:
    world.sql("create table t (id int primary key, name text)")
    world.write("a", FORMATS["csv"](ROWS))
    document = world.document(mode=mode, source=FOLDERS | {"waitPolicy": {"settleSeconds": 0}})
    world.preview(document)
    assert [path.name for path in (world.folder / "in").iterdir()] == ["a"]


def test_nothing_new_is_reported_as_such(filled: World, mode: str) -> None:
    filled.run(filled.document(mode=mode))
    preview = filled.preview(filled.document(mode=mode))
    assert preview.nothing_new
    assert preview.effects == []


@pytest.mark.parametrize(("mode", "step"), pair(MODES, ["effect", "check", "pass"]))
def test_it_changes_nothing_when_it_is_stopped(filled: World, mode: str, step: str) -> None:
    before = snapshot(filled)

    def stop(name: str, node: str | None) -> None:
        if name == step:
            raise Cancelled("run.cancelled", "enough")

    filled.memory.on_step = stop
    with pytest.raises(Cancelled):
        filled.preview(filled.document(mode=mode))
    assert snapshot(filled) == before


def test_what_would_fail_the_run_fails_the_preview(filled: World, mode: str) -> None:
    document = filled.document(mode=mode, rules=[{"type": "range", "field": "id", "max": 0, "onFail": "abort"}])
    before = snapshot(filled)
    with pytest.raises(Terminal) as reported:
        filled.preview(document)
    assert snapshot(filled) == before
    with pytest.raises(Failure) as failed:
        filled.run(document)
    assert (reported.value.code, reported.value.message) == (failed.value.code, failed.value.message)


def test_a_run_goes_on_beside_it(filled: World, mode: str) -> None:
    """Neither the fence nor a lock of the preview blocks a run."""
    document = filled.document(mode=mode)
    report = None

    def run(name: str, node: str | None) -> None:
        nonlocal report
        if name == "effect":
            filled.memory.on_step = lambda step, node: None
            report = filled.run(document)

    filled.memory.on_step = run
    with suppress(Terminal):  # appending the rows that the run has loaded again would repeat their keys
        filled.preview(document)
    assert report is not None
    assert target_of(report).rows_loaded


def test_pre_hooks_do_not_run(filled: World, mode: str) -> None:
    filled.sql("create table u (id int)")
    hook = {"type": "sql", "statement": f"ANALYZE {filled.schema}.u"}
    filled.preview(filled.document(mode=mode, preHook=hook, postHook=hook))
    ((analyzed,),) = filled.sql(
        "select last_analyze from pg_stat_user_tables where relname = 'u' and schemaname = %s", filled.schema
    )
    assert analyzed is None


def test_it_says_whether_a_run_would_be_held(world: World) -> None:
    world.sql("create table t (id int primary key, name text)")
    world.sql("insert into t select n, 'x' from generate_series(1, 10) n")
    world.write("a", "id,name\n1,x\n")
    preview = world.preview(world.document(mode="truncate", hold={"maxDecreasePct": 50}))
    assert "from 10 to 1 rows" in preview.effects[0].held_for[0]


@pytest.mark.parametrize("table", ["create table t (id int primary key, name text)", "select 1"])
def test_an_incremental_load_reports_the_rows_past_the_watermark(world: World, table: str) -> None:
    world.sql(table)
    document = world.document(mode="incremental_watermark", watermarkColumn="id")
    world.write("a", "id,name\n1,Ann\n2,Bob\n3,Cy\n")
    first = world.preview(document)
    assert counts(first) == counts(world.run(document))
    world.write("b", "id,name\n2,Bob\n3,Cy\n4,Dee\n")
    before = snapshot(world)
    preview = world.preview(document)
    assert snapshot(world) == before
    assert counts(preview) == counts(world.run(document))
    assert (target_of(preview).rows_behind_mark, preview.effects[0].after) == (2, 4)
