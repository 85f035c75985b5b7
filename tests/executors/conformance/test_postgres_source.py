"""Tables and queries of PostgreSQL as sources, through every load mode."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest

from executors.errors import Failure, Terminal, Transient
from executors.sources import postgres_blocks
from tests.executors.conformance.world import World, reconciles, target_of
from tests.executors.row_modes import ROW_MODES

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

TABLE = "create table {} (id int primary key, name text, amount numeric(10,2), day date, ok boolean)"
ROWS = (
    "insert into s values (1, 'Ann', 1.25, '2026-01-31', true), (2, 'Bé,\n\"b\"', null, '2024-02-29', false),"
    " (3, null, -10.5, null, null)"
)


MODES = ROW_MODES


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def tables(world: World) -> None:
    """Make `s` with three rows, and an empty `t` with the same columns."""
    for name in ("s", "t"):
        world.sql(TABLE.format(name))
    world.sql(ROWS)


@pytest.mark.usefixtures("tables")
def test_rows_arrive_as_they_stand(world: World, mode: str) -> None:
    report = world.run(world.table_document(mode=mode))
    assert world.rows() == world.rows(table="s")
    assert reconciles(report)
    assert (target_of(report).rows_read, target_of(report).rows_inserted) == (3, 3)
    assert not report.nothing_new


@pytest.mark.usefixtures("tables")
def test_a_query_gives_its_rows(world: World, mode: str) -> None:
    query = f"select id, upper(name) as name from {world.schema}.s where id < 3; -- no more"
    report = world.run(world.table_document(query=query, mode=mode))
    assert world.rows("id, name") == [(1, "ANN"), (2, 'BÉ,\n"B"')]
    assert (target_of(report).rows_read, reconciles(report)) == (2, True)


def test_a_missing_table_is_made_of_the_source_s_types(world: World, mode: str) -> None:
    world.sql(TABLE.format("s"))
    world.sql(ROWS)
    world.run(world.table_document(mode=mode))
    assert world.rows("id, name, amount, day, ok") == world.rows(table="s")


@pytest.fixture
def loaded(world: World) -> World:
    """`t` was made by a load and renamed to `s`, the source."""
    world.sql(TABLE.format("s"))
    world.sql(ROWS)
    world.run(world.table_document())
    world.sql("drop table s; alter table t rename to s")
    return world


@pytest.mark.parametrize("shape", ["s", "v", "w"])
def test_a_table_that_a_load_has_made_is_a_source_as_it_is(loaded: World, shape: str) -> None:
    loaded.sql("create view v as select * from s; create view w as select * from v where id > 0")
    before = loaded.sql("select distinct _flow_run::text from s")
    loaded.run(loaded.table_document(shape))
    written = loaded.memory.commits["load"].run_id
    assert loaded.sql("select distinct _flow_run::text, count(*) from t group by 1") == [(written, 3)]
    assert before != [(written,)]


@pytest.mark.usefixtures("tables")
def test_a_table_of_ones_own_that_a_load_has_filled_is_a_source_as_it_is(world: World) -> None:
    world.sql("create table u (like t, _flow_run uuid); alter table t add _flow_run uuid")
    world.run(world.table_document())
    world.sql("drop table s; alter table t rename to s; alter table u rename to t")
    world.run(world.table_document())
    assert world.sql("select distinct _flow_run::text from t") == [(world.memory.commits["load"].run_id,)]


def test_a_star_gives_what_a_load_has_written_beside_the_rows_to_no_target(loaded: World) -> None:
    loaded.sql(TABLE.format("t"))
    loaded.sql("update s set _source_file_hash = 'theirs'; alter table t add origin text, add _flow_run uuid")
    query = (
        "with a as (select s.* from {}.s as s) select *, _source_file_hash as origin from a where _flow_run is not null"
    )
    loaded.run(loaded.table_document(query=query.format(loaded.schema)))
    written = loaded.memory.commits["load"].run_id
    assert loaded.sql("select count(*), origin, _flow_run::text from t group by 2, 3") == [(3, "theirs", written)]


OWN = ["_source_file_hash text", "_source_record bigint", "_flow_run uuid", "_flow_run text", "_source_record int"]


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize("own", OWN)
@pytest.mark.parametrize("query", ["", "select * from {0}.s", "select * from (select *, 1 as one from {0}.s) as a"])
def test_a_column_of_the_source_s_own_with_such_a_name_is_refused(world: World, own: str, query: str) -> None:
    world.sql(f"alter table s add {own}")
    name = own.split()[0]
    with pytest.raises(Terminal, match=rf"source\.column_reserved.*{name!r} of its own") as stopped:
        world.run(world.table_document(query=query.format(world.schema) or None))
    assert f"{name} AS" in (stopped.value.hint or "")
    assert world.rows() == []


@pytest.mark.usefixtures("tables")
def test_a_column_of_a_load_that_a_query_spells_is_not_excluded_without_a_word(world: World) -> None:
    world.sql("alter table s add _flow_run uuid")
    with pytest.raises(Terminal, match=r"source\.column_reserved.*'_flow_run'"):
        world.run(world.table_document(query=f"select id, _flow_run from {world.schema}.s"))
    assert world.rows() == []


@pytest.mark.usefixtures("tables")
def test_rejected_rows_are_kept_with_their_place(world: World, mode: str) -> None:
    rule = {"type": "notNull", "field": "name", "onFail": "skip"}
    report = world.run(world.table_document(mode=mode, rules=[rule]))
    assert [row[0] for row in world.rows()] == [1, 2]
    assert (target_of(report).rows_rejected, reconciles(report)) == (1, True)
    ((name, record, row),) = world.sql('select "sourceFile", "sourceRecord", "row" from rejected')
    assert (name, record) == (f"{world.schema}.s", 3)
    assert row == {"id": 3, "name": None, "amount": "-10.50", "day": None, "ok": None}


@pytest.mark.usefixtures("tables")
def test_expressions_see_the_types_of_the_source(world: World, mode: str) -> None:
    ops = [
        {"op": "derive", "columns": {"amount": "amount * 2", "day": "date_add(day, 1)"}},
        {"op": "filter", "where": "ok is not null"},
    ]
    report = world.run(world.table_document(mode=mode, ops=ops))
    assert world.rows("id, amount::text, day::text") == [(1, "2.50", "2026-02-01"), (2, None, "2024-03-01")]
    assert (target_of(report).rows_filtered, reconciles(report)) == (1, True)


@pytest.mark.usefixtures("tables")
def test_a_second_run_reads_what_is_there_then(world: World, mode: str) -> None:
    world.run(world.table_document(mode=mode))
    world.sql("delete from s; insert into s values (4, 'Zoe')")
    report = world.run(world.table_document(mode=mode))
    assert (target_of(report).rows_read, reconciles(report)) == (1, True)
    assert (4, "Zoe") in world.rows("id, name")


@pytest.mark.usefixtures("tables")
def test_all_targets_get_the_rows_of_one_moment(world: World, mode: str) -> None:
    world.sql(TABLE.format("u"))
    document = world.table_document(mode=mode)
    document["nodes"].append({**document["nodes"][-1], "id": "load-u", "table": "u"})

    def write_meanwhile(step: str, node: str | None) -> None:
        if (step, node) == ("load", "load"):
            world.sql("delete from s where id = 1; insert into s values (4, 'late')")

    world.memory.on_step = write_meanwhile
    world.run(document)
    assert world.rows("id") == world.rows("id", table="u") == [(1,), (2,), (3,)]


@pytest.mark.usefixtures("tables")
def test_a_retry_reports_that_its_targets_hold_different_moments(world: World) -> None:
    world.sql(TABLE.format("u"))
    document, run_id = world.table_document(), str(uuid.uuid4())
    document["nodes"].append({**document["nodes"][-1], "id": "load-u", "table": "u"})

    def fail_once(step: str, node: str | None) -> None:
        if (step, node) == ("load", "load-u"):
            world.memory.on_step = lambda step, node: None
            raise Transient("target.lost", "gone")

    world.memory.on_step = fail_once
    with pytest.raises(Transient):
        world.run(document, run_id=run_id)
    report = world.run(document, run_id=run_id, attempt=2)
    assert world.rows() == world.rows(table="u")
    assert [warning.code for warning in report.warnings] == ["source.newer_snapshot"]


@pytest.mark.usefixtures("tables")
def test_an_empty_table_is_an_empty_source(world: World) -> None:
    world.sql("delete from s; insert into t values (9, 'old')")
    with pytest.raises(Terminal) as stopped:
        world.run(world.table_document(mode="truncate"))
    assert stopped.value.code == "source.empty"
    assert world.rows("id") == [(9,)]
    world.run(world.table_document(mode="truncate", failOnEmptySource=False))
    assert world.rows("id") == []


@pytest.mark.parametrize(
    ("config", "code"),
    [
        ({"table": {"schema": "nowhere", "name": "s"}}, "source.table_unknown"),
        ({"query": "select 1 as a, 2 as a"}, "source.column_repeated"),
        ({"query": "select x from nowhere.s"}, "source.table_unknown"),
    ],
)
@pytest.mark.usefixtures("tables")
def test_what_cannot_be_read_is_refused_before_the_target_is_touched(
    world: World, config: dict[str, object], code: str
) -> None:
    document = world.table_document()
    document["nodes"][0]["config"] = config
    with pytest.raises(Failure) as stopped:
        world.run(document)
    assert code in (stopped.value.code, str(stopped.value))
    assert ("pass", "load") not in world.memory.steps


@pytest.mark.usefixtures("tables")
def test_what_the_role_may_not_read_is_refused_before_the_target_is_touched(world: World) -> None:
    world.sql("revoke select on s from current_user")
    with pytest.raises(Terminal, match=r"^source\.forbidden"):
        world.run(world.table_document(query=f"select * from {world.schema}.s"))
    assert ("pass", "load") not in world.memory.steps


@pytest.mark.usefixtures("tables")
def test_a_function_of_the_database_runs_when_an_admin_allows_it_and_it_is_not_volatile(world: World) -> None:
    world.sql("create function f() returns int language sql as 'select 1'")
    with pytest.raises(Terminal, match=r"^query\.function_not_allowed"):
        world.run(world.table_document(query=f"select {world.schema}.f() as id"))
    world.warehouse = replace(world.warehouse, allowed_functions=(f"{world.schema}.f",))
    with pytest.raises(Terminal) as stopped:
        world.run(world.table_document(query=f"select {world.schema}.f() as id"))
    assert (stopped.value.code, stopped.value.node) == ("query.not_allowed", "src")
    world.sql("alter function f() stable")
    world.run(world.table_document(query=f"select {world.schema}.f() as id"))
    assert world.rows("id") == [(1,)]


@pytest.mark.usefixtures("tables")
def test_nobody_else_s_transaction_is_left_open(world: World) -> None:
    world.run(world.table_document())
    assert world.sql("select count(*) from pg_stat_activity where application_name like 'flow run %% reads'") == [(0,)]


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize("replacing", ["truncate", "blue_green"])
def test_a_table_is_replaced_by_rows_of_its_own(world: World, replacing: str) -> None:
    """The session in which the run reads must not block its load."""
    world.sql("insert into t select * from s")
    report = world.run(world.table_document("t", mode=replacing, ops=[{"op": "filter", "where": "id < 3"}]))
    assert reconciles(report)
    assert world.rows("id") == [(1,), (2,)]


@pytest.mark.usefixtures("tables")
def test_rows_behind_the_watermark_are_left_at_the_source(world: World) -> None:
    document = world.table_document(mode="incremental_watermark", watermarkColumn="id")
    world.run(document)
    world.sql("insert into s values (4, 'Zoe')")
    report = world.run(document)
    t = target_of(report)
    assert (t.rows_read, t.rows_behind_mark, t.rows_loaded, reconciles(report)) == (2, 1, 1, True)
    assert world.rows("id") == [(1,), (2,), (3,), (4,)]


@pytest.mark.parametrize("in_the_way", ["bigint", "text"])
def test_where_types_differ_all_rows_come_and_those_behind_the_watermark_are_skipped(
    world: World, in_the_way: str
) -> None:
    world.sql(f"create table s (id {in_the_way}, name text); insert into s values (1, 'a'), (2, 'b')")
    world.sql("create table t (id int, name text)")
    document = world.table_document(mode="incremental_watermark", watermarkColumn="id")
    world.run(document)
    report = world.run(document)
    assert (target_of(report).rows_read, target_of(report).rows_behind_mark, reconciles(report)) == (2, 2, True)


def test_rows_of_a_parent_are_rejected_one_by_one(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_blocks, "SPLIT_BYTES", 64 << 10)
    world.sql("create table s (id int); create table child () inherits (s); create table t (id int check (id <> 7))")
    world.sql("insert into s select * from generate_series(1, 20000)")
    world.sql("insert into child select * from generate_series(1, 20000)")
    rule = {"type": "range", "field": "id", "min": 3, "onFail": "skip"}
    report = world.run(world.table_document(rules=[rule], onTypeMismatch="skip"))
    assert world.sql("select count(*), count(distinct id) from t") == [(2 * 19997, 19997)]
    assert world.sql('select count(*), count(distinct "rowId") from rejected') == [(6, 6)]
    assert (target_of(report).rows_rejected, reconciles(report)) == (6, True)
