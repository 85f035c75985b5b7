"""The guarantees of incremental_watermark, in runs over files."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from executors.errors import Failure, Terminal, Transient
from executors.postgres.client import connect
from executors.postgres.inspect import inspect_target
from executors.postgres.watermarks import WatermarkKey, find_watermark, reset_watermark, set_watermark
from executors.report import NodeReport
from executors.table_name import TableName
from tests.executors.conformance.world import World, reconciles, target_of

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

HEADER = "id,upd\n"
FIRST = "1,2026-01-01 10:00:00\n2,2026-01-01 10:00:00\n"
LATE = "3,2026-01-01 10:00:00\n4,2026-01-01 10:00:01\n"


@pytest.fixture
def updates(world: World) -> World:
    world.sql("create table t (id int, upd timestamp not null)")
    return world


def document(world: World, **target: Any) -> dict[str, Any]:
    return world.document(mode="incremental_watermark", **{"watermarkColumn": "upd", **target})


def load(world: World, **target: Any) -> NodeReport:
    report = world.run(document(world, **target))
    assert reconciles(report)
    return target_of(report)


def watermark_key(world: World) -> WatermarkKey:
    return WatermarkKey(world.tenant, "case", TableName(world.schema, "t"))


def watermark_of(world: World) -> str | None:
    with connect(world.warehouse) as conn:
        found = find_watermark(conn, watermark_key(world))
    return found and found.value


def ids(world: World) -> list[int]:
    return [row[0] for row in world.rows("id")]


def test_rows_tied_with_the_watermark_arrive_exactly_once(updates: World) -> None:
    """Every file contains all rows so far, as if the source were read again."""
    updates.write("a", HEADER + FIRST)
    assert load(updates).rows_loaded == 2
    updates.write("b", HEADER + FIRST + LATE)
    t = load(updates)
    assert (t.rows_read, t.rows_behind_mark, t.rows_loaded) == (4, 2, 2)
    report = updates.run(document(updates))
    assert (report.nothing_new, target_of(report).rows_loaded) == (True, 0)
    updates.write("c", HEADER + FIRST + LATE + "\n")
    assert load(updates).rows_loaded == 0
    assert ids(updates) == [1, 2, 3, 4]
    assert watermark_of(updates) == "2026-01-01 10:00:01"


def test_late_rows_alone_in_a_file_arrive_too(updates: World) -> None:
    updates.write("a", HEADER + FIRST)
    load(updates)
    updates.write("b", HEADER + LATE)
    assert load(updates).rows_loaded == 2


@pytest.mark.parametrize(
    ("declared", "first", "more", "watermark"),
    [
        (
            "timestamp(6)",
            "2026-01-01 10:00:00.123456",
            ["2026-01-01 10:00:00.123457", "2026-01-01 10:00:00.123900"],
            "2026-01-01 10:00:00.1239",
        ),
        (
            "timestamptz",
            "2026-01-01 12:00:00.123456+02",
            ["2026-01-01T10:00:00.123457Z", "2026-01-01T10:00:00.123900Z"],
            "2026-01-01 10:00:00.1239+00",
        ),
        ("bigint", "9007199254740993", ["9007199254740994", "9007199254740995"], "9007199254740995"),
        ("numeric", "0.1", ["0.10000000000000000000000000000000000000001", "0.2"], "0.2"),
    ],
)
def test_a_watermark_is_as_fine_as_its_column(
    world: World, declared: str, first: str, more: list[str], watermark: str
) -> None:
    world.sql(f"create table t (id int, upd {declared})")
    world.write("a", f"{HEADER}1,{first}\n")
    load(world)
    world.write("b", f"{HEADER}1,{first}\n\n")
    assert load(world).rows_loaded == 0
    world.write("c", HEADER + f"1,{first}\n" + "".join(f"{i},{value}\n" for i, value in enumerate(more, 2)))
    assert load(world).rows_loaded == 2
    assert watermark_of(world) == watermark


def test_rows_of_files_below_the_watermark_are_counted_and_warned_about(updates: World) -> None:
    updates.write("a", HEADER + LATE)
    load(updates)
    updates.write("b", HEADER + "5,2026-01-01 09:00:00\n6,2026-01-01 11:00:00\n")
    report = updates.run(document(updates))
    assert (target_of(report).rows_behind_mark, target_of(report).rows_loaded) == (1, 1)
    assert [w.code for w in report.warnings] == ["rows.below_watermark"]
    assert reconciles(report)


def test_rows_read_again_are_no_reason_to_warn(updates: World) -> None:
    updates.write("a", HEADER + FIRST)
    load(updates)
    updates.write("b", HEADER + FIRST + LATE)
    assert updates.run(document(updates)).warnings == []


def test_rows_within_the_lag_are_not_behind(updates: World) -> None:
    updates.write("a", HEADER + LATE)
    load(updates, watermarkLag="1h")
    updates.write("b", HEADER + "5,2026-01-01 09:00:01\n6,2026-01-01 09:00:00\n")
    t = load(updates, watermarkLag="1h")
    assert (t.rows_loaded, t.rows_behind_mark) == (1, 1)


@pytest.mark.parametrize(("handling", "loaded"), [("skip", 2), ("null", 2), ("abort", 0)])
def test_a_row_without_a_value_to_follow_is_a_violation(world: World, handling: str, loaded: int) -> None:
    world.sql("create table t (id int, upd timestamp)")
    world.write("a", HEADER + FIRST + "3,\n")
    if handling == "abort":
        with pytest.raises(Terminal, match=r"rule\.abort"):
            load(world)
    else:
        report = world.run(document(world, onTypeMismatch=handling))
        assert reconciles(report)
        assert [(rule.rule_id, rule.violations) for rule in report.rules] == [("notNull:upd", 1)]
        assert watermark_of(world) == "2026-01-01 10:00:00"
    assert len(ids(world)) == loaded


def test_no_number_that_nothing_can_pass_becomes_the_watermark(world: World) -> None:
    world.sql("create table t (id int, upd numeric)")
    world.write("a", "id,upd\n1,1.5\n2,NaN\n3,Infinity\n")
    report = world.run(document(world))
    assert [w.code for w in report.warnings] == ["rows.ahead_of_clock"]
    assert "2 rows" in report.warnings[0].message
    assert (ids(world), watermark_of(world)) == ([1, 2, 3], "1.5")
    world.write("b", "id,upd\n2,NaN\n3,Infinity\n4,2\n")
    assert (load(world).rows_loaded, ids(world), watermark_of(world)) == (1, [1, 2, 3, 4], "2")


@pytest.mark.parametrize("table", ["create table t (id int, upd timestamp not null)", "select 1"])
def test_a_row_dated_in_the_future_loads_once_and_keeps_no_later_row_out(world: World, table: str) -> None:
    world.sql(table)
    declared = [{"name": "id", "type": "integer"}, {"name": "upd", "type": "timestamp"}]
    wrong = "9,2099-01-01 00:00:00\n"
    world.write("a", HEADER + FIRST + wrong)
    preview = world.preview(document(world, columns=declared))
    report = world.run(document(world, columns=declared))
    assert [w.code for w in preview.warnings] == [w.code for w in report.warnings] == ["rows.ahead_of_clock"]
    assert watermark_of(world) == "2026-01-01 10:00:00"
    world.write("b", HEADER + LATE + wrong)
    report = world.run(document(world, columns=declared))
    assert (report.warnings, target_of(report).rows_loaded, target_of(report).rows_behind_mark) == ([], 2, 1)
    assert reconciles(report)
    assert ids(world) == [1, 2, 3, 4, 9]


def test_a_watermark_in_the_future_is_warned_about(updates: World) -> None:
    updates.write("a", HEADER + FIRST)
    load(updates)
    updates.sql(
        "update flow_meta.pipeline_watermarks set value = '2099-01-01 00:00:00' where tenant = %s", updates.tenant
    )
    updates.write("b", HEADER + LATE)
    warned = [w.code for w in updates.run(document(updates)).warnings]
    assert "watermark.ahead_of_clock" in warned


def test_a_key_of_the_table_is_no_hindrance_to_rows_read_again(world: World) -> None:
    world.sql("create table t (id int primary key, upd timestamp not null)")
    world.write("a", HEADER + FIRST)
    load(world)
    world.write("b", HEADER + FIRST + LATE)
    assert load(world, onTypeMismatch="skip").rows_rejected == 0
    assert ids(world) == [1, 2, 3, 4]


def test_a_row_past_the_watermark_that_repeats_a_key_of_the_table_is_refused(world: World) -> None:
    world.sql("create table t (id int primary key, upd timestamp not null)")
    world.write("a", HEADER + FIRST)
    load(world)
    world.write("b", HEADER + FIRST + "1,2026-01-01 11:00:00\n5,2026-01-01 11:00:00\n")
    t = load(world, onTypeMismatch="skip")
    assert (t.rows_rejected, t.rows_behind_mark, t.rows_loaded) == (1, 2, 1)


def test_a_preview_says_what_the_run_then_does(updates: World) -> None:
    updates.write("a", HEADER + FIRST)
    load(updates)
    updates.write("b", HEADER + FIRST + LATE + "9,2026-01-01 09:00:00\n")
    preview, watermark = updates.preview(document(updates)), watermark_of(updates)
    run = updates.run(document(updates))
    assert watermark == "2026-01-01 10:00:00"
    assert reconciles(preview)
    assert target_of(preview).rows_behind_mark == target_of(run).rows_behind_mark == 3
    assert [w.code for w in preview.warnings] == [w.code for w in run.warnings] == ["rows.below_watermark"]
    assert preview.effects[0].after == len(ids(updates))


def test_checks_look_at_the_rows_that_will_be_loaded(updates: World) -> None:
    updates.write("a", HEADER + FIRST)
    load(updates)
    updates.write("b", HEADER + FIRST + LATE)
    checks = {"rowCount": {"max": 2, "onFail": "abort"}}
    report = updates.run(updates.document(mode="incremental_watermark", watermarkColumn="upd", checks=checks))
    assert report.checks[0].observed == 2


def test_a_failed_load_moves_no_watermark_and_its_rows_come_with_the_next(world: World) -> None:
    world.sql("create table t (id int not null, upd timestamp not null)")
    world.write("a", HEADER + FIRST)
    load(world)
    path = world.write("b", f"{HEADER}5,2026-01-01 11:00:00\n6,2026-01-01 11:00:01\n,2026-01-01 11:00:02\n")
    with pytest.raises(Terminal):
        load(world)
    assert (ids(world), watermark_of(world)) == ([1, 2], "2026-01-01 10:00:00")
    path.write_text(f"{HEADER}5,2026-01-01 11:00:00\n6,2026-01-01 11:00:01\n7,2026-01-01 11:00:02\n")
    assert load(world).rows_loaded == 3
    assert (ids(world), watermark_of(world)) == ([1, 2, 5, 6, 7], "2026-01-01 11:00:02")


class PowerCut(BaseException):
    pass


BEFORE_THE_COMMIT = ["pass", *(pytest.param(s, marks=pytest.mark.slow) for s in ("watermark", "refuse")), "load"]


@pytest.mark.parametrize("step", BEFORE_THE_COMMIT)
def test_a_worker_killed_before_the_commit_leaves_rows_and_watermark_to_the_next_attempt(
    updates: World, step: str
) -> None:
    updates.write("a", HEADER + FIRST)
    load(updates)
    updates.write("b", HEADER + FIRST + LATE)
    run_id = str(uuid.uuid4())

    def cut(name: str, node: str | None) -> None:
        if name == step:
            raise PowerCut

    updates.memory.on_step = cut
    with pytest.raises(PowerCut):
        updates.run(document(updates), run_id=run_id)
    assert (ids(updates), watermark_of(updates)) == ([1, 2], "2026-01-01 10:00:00")
    updates.memory.on_step = lambda name, node: None
    assert target_of(updates.run(document(updates), run_id=run_id, attempt=2)).rows_loaded == 2
    assert ids(updates) == [1, 2, 3, 4]


def test_a_worker_killed_after_the_commit_has_moved_rows_and_watermark(updates: World) -> None:
    updates.write("a", HEADER + FIRST)
    run_id = str(uuid.uuid4())

    def cut(commit: object) -> None:
        raise PowerCut

    updates.memory.on_committed = cut
    with pytest.raises(PowerCut):
        updates.run(document(updates), run_id=run_id)
    assert (ids(updates), watermark_of(updates)) == ([1, 2], "2026-01-01 10:00:00")
    updates.memory.on_committed = lambda commit: None
    report = updates.run(document(updates), run_id=run_id, attempt=2)
    assert (target_of(report).rows_loaded, ids(updates)) == (2, [1, 2])


def test_a_watermark_that_a_person_moves_under_a_run_is_taken_up_by_the_next_attempt(updates: World) -> None:
    updates.write("a", HEADER + FIRST)
    load(updates)
    updates.write("b", HEADER + LATE)
    run_id = str(uuid.uuid4())

    def forward(name: str, node: str | None) -> None:
        if name == "load":
            with connect(updates.warehouse, autocommit=True) as conn:
                dest = inspect_target(conn, updates.schema, "t")
                assert dest
                column = dest.column("upd")
                assert column
                set_watermark(conn, watermark_key(updates), column, "2026-01-01 10:00:01", by=None, reason="skip")

    updates.memory.on_step = forward
    with pytest.raises(Transient, match=r"watermark\.moved"):
        updates.run(document(updates), run_id=run_id)
    updates.memory.on_step = lambda name, node: None
    t = target_of(updates.run(document(updates), run_id=run_id, attempt=2))
    assert (t.rows_loaded, t.rows_behind_mark) == (1, 1)


def test_a_new_table_does_not_begin_at_the_watermark_of_the_one_that_is_gone(updates: World) -> None:
    updates.write("a", HEADER + FIRST)
    load(updates)
    updates.sql("drop table t")
    (updates.folder / "in/a").unlink()
    updates.write("b", HEADER + LATE)
    with pytest.raises(Failure) as stopped:
        load(updates)
    assert stopped.value.code == "target.table_gone"
    assert updates.sql("select to_regclass('t')") == [(None,)]
    with connect(updates.warehouse, autocommit=True) as conn:
        reset_watermark(conn, watermark_key(updates), by=None, reason="a new table")
    assert load(updates).rows_loaded == 2


def test_a_first_watermark_that_may_miss_rows_hidden_by_policies_is_warned_about(world: World) -> None:
    world.sql("create table t (id int, name text); insert into t values (9, 'hidden')")
    world.sql("alter table t enable row level security; alter table t force row level security")
    world.sql("create policy p on t using (name <> 'hidden')")
    world.write("a", "id,name\n1,a\n")
    report = world.run(world.document(mode="incremental_watermark"))
    assert [warning.code for warning in report.warnings] == ["watermark.rows_may_be_hidden"]

    world.write("b", "id,name\n2,b\n")
    assert world.run(world.document(mode="incremental_watermark")).warnings == []


def test_a_new_column_does_not_load_rows_again(updates: World) -> None:
    updates.write("a", HEADER + FIRST)
    load(updates)
    updates.sql("alter table t add note text")
    updates.write("b", "id,upd,note\n1,2026-01-01 10:00:00,x\n2,2026-01-01 10:00:00,y\n3,2026-01-01 10:00:00,z\n")
    assert load(updates).rows_loaded == 1
    assert updates.rows("id, note") == [(1, None), (2, None), (3, "z")]


def test_a_target_that_two_pipelines_fill_has_a_watermark_for_each(updates: World) -> None:
    updates.write("a", HEADER + LATE)
    load(updates)
    other = {**document(updates), "id": "other"}
    updates.memory.commits.clear()
    updates.write("b", HEADER + "9,2026-01-01 10:00:05\n")
    updates.run(other)
    assert watermark_of(updates) == "2026-01-01 10:00:01"


@pytest.mark.parametrize(
    ("key", "loaded", "code"), [(" primary key", 0, "rows.known_by_key"), ("", 2, "rows.may_repeat")]
)
def test_a_watermark_set_back_over_rows_that_a_trigger_has_changed(
    world: World, key: str, loaded: int, code: str
) -> None:
    world.sql(f"create table t (id int{key}, upd timestamp not null, note text)")
    world.sql(
        "create function loud() returns trigger language plpgsql as"
        " $$begin new.note := upper(new.note); return new; end$$"
    )
    world.sql("create trigger loud before insert on t for each row execute function loud()")
    rows = "1,2026-01-01 10:00:00,a\n2,2026-01-01 10:00:01,b\n"
    world.write("a", f"id,upd,note\n{rows}")
    load(world)
    with connect(world.warehouse, autocommit=True) as conn:
        dest = inspect_target(conn, world.schema, "t")
        assert dest
        set_watermark(conn, watermark_key(world), dest.columns[1], "2026-01-01 09:00:00", by=None, reason="again")
    world.write("b", f"id,upd,note\n{rows}\n")
    preview = world.preview(document(world))
    report = world.run(document(world))
    assert target_of(report).rows_loaded == target_of(preview).rows_loaded == loaded
    assert reconciles(report)
    for reported in (preview, report):
        assert code in [w.code for w in reported.warnings]


def test_rows_known_by_their_key_beside_rows_that_the_table_refuses(world: World) -> None:
    world.sql("create table t (id int primary key, upd timestamp not null, note text check (note <> 'bad'))")
    world.sql("insert into t values (1, '2026-01-01 10:00:00', 'theirs')")
    world.write("a", "id,upd,note\n1,2026-01-01 10:00:00,ours\n2,2026-01-01 10:00:01,ours\n3,2026-01-01 10:00:02,bad\n")
    report = world.run(document(world, onTypeMismatch="skip"))
    assert reconciles(report)
    assert world.rows("id, note") == [(1, "theirs"), (2, "ours")]
    assert {w.code for w in report.warnings} == {"rows.known_by_key", "rows.rejected"}


def test_infinite_times_of_a_table_load_once_and_are_no_watermark(world: World) -> None:
    world.sql("create table s (id int, upd timestamptz)")
    world.sql("insert into s values (9, 'infinity')")
    world.sql("create table t (id int, upd timestamptz not null)")
    document = world.table_document(mode="incremental_watermark", watermarkColumn="upd")
    assert [w.code for w in world.run(document).warnings] == ["rows.ahead_of_clock"]
    world.sql("insert into s values (1, '2026-01-01 10:00:00Z'), (2, '-infinity')")
    for loaded in (2, 0):
        report = world.run(document)
        assert (target_of(report).rows_loaded, report.warnings, reconciles(report)) == (loaded, [], True)
    assert (ids(world), watermark_of(world)) == ([1, 2, 9], "2026-01-01 10:00:00+00")
