"""The common behaviour of every load mode with every file format."""

from __future__ import annotations

import datetime
import uuid
from decimal import Decimal

import pytest

from executors.errors import Failure, LeaseLost, Terminal
from tests.executors.conformance.destinations import every_destination, every_destination_and_format, every_quarantine
from tests.executors.conformance.world import FORMATS, World, reconciles, target_of
from tests.tiers import pair

MODES = ("append", "truncate", "upsert", "blue_green", "incremental_watermark")
TABLE = "create table t (id int primary key, name text, amount numeric(10,2), day date, ok boolean)"
ROWS = [
    {"id": 1, "name": "Ann", "amount": 1.25, "day": "2026-01-31", "ok": True},
    {"id": 2, "name": 'Bé,\n"b"', "amount": None, "day": "2024-02-29", "ok": False},
    {"id": 3, "name": None, "amount": -10.5, "day": None, "ok": None},
]
LOADED = [
    (1, "Ann", Decimal("1.25"), datetime.date(2026, 1, 31), True),
    (2, 'Bé,\n"b"', None, datetime.date(2024, 2, 29), False),
    (3, None, Decimal("-10.50"), None, None),
]

pytestmark = [pytest.mark.spark, pytest.mark.postgres, pytest.mark.every_connector]


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


in_every_mode_and_format = pytest.mark.parametrize(("mode", "format"), pair(MODES, FORMATS))


@every_destination_and_format
def test_rows_arrive_under_their_names_with_their_values(world: World, mode: str, format: str) -> None:
    world.create_table(TABLE)
    world.write("a", FORMATS[format](ROWS))
    report = world.run(world.document(format=format, mode=mode))
    assert world.rows() == LOADED
    assert reconciles(report)
    assert (target_of(report).rows_read, target_of(report).rows_inserted) == (3, 3)


@every_destination
def test_the_same_files_again_are_nothing_new(world: World, mode: str) -> None:
    world.create_table(TABLE)
    world.write("a", FORMATS["csv"](ROWS))
    world.run(world.document(mode=mode))
    report = world.run(world.document(mode=mode))
    assert report.nothing_new
    assert target_of(report).rows_loaded == 0
    assert world.rows() == LOADED


@every_destination
def test_the_same_bytes_under_a_new_name_are_skipped(world: World, mode: str) -> None:
    world.create_table(TABLE)
    world.write("a", FORMATS["csv"](ROWS))
    world.run(world.document(mode=mode))
    world.write("b", FORMATS["csv"](ROWS))
    world.run(world.document(mode=mode))
    assert world.rows() == LOADED
    assert world.memory.skipped


@pytest.mark.parametrize("mode", ["append", "upsert", "incremental_watermark"])  # a full refresh loads every file again
def test_a_file_that_is_loaded_stays_so_when_a_later_run_ends_badly(world: World, mode: str) -> None:
    world.sql(TABLE)
    world.write("a", FORMATS["csv"](ROWS[:2]))
    world.run(world.document(mode=mode))
    (loaded,) = world.memory.states
    world.write("b", FORMATS["csv"](ROWS[2:]))
    with pytest.raises(Terminal):
        world.run(world.document(mode=mode, rules=[{"type": "range", "field": "id", "max": 0, "onFail": "abort"}]))
    assert world.memory.states.pop(loaded) == "committed"
    assert set(world.memory.states.values()) == {"failed"}


@every_destination
def test_a_second_file(world: World, mode: str) -> None:
    world.create_table(TABLE)
    world.write("a", FORMATS["csv"](ROWS[:2]))
    world.run(world.document(mode=mode))
    world.write("b", FORMATS["csv"](ROWS[2:]))
    report = world.run(world.document(mode=mode))
    assert world.rows() == LOADED
    assert target_of(report).rows_read == {"truncate": 3, "blue_green": 3}.get(mode, 1)
    assert reconciles(report)


@in_every_mode_and_format
def test_rejected_rows_are_kept_with_their_place(world: World, mode: str, format: str) -> None:
    world.sql(TABLE)
    world.write("a", FORMATS[format](ROWS))
    rule = {"type": "notNull", "field": "name", "onFail": "skip"}
    report = world.run(world.document(format=format, mode=mode, rules=[rule]))
    assert [row[0] for row in world.rows()] == [1, 2]
    assert reconciles(report)
    assert (target_of(report).rows_rejected, report.quarantine_rows, report.quarantine_entries) == (1, 1, 1)
    ((record, field, disposition, name),) = world.sql(
        'select "sourceRecord", field, disposition, "row"->>\'name\' from rejected'
    )
    assert (record, field, disposition, name) == (3, "name", "dropped", None)


@every_quarantine
def test_a_skipped_row_is_in_quarantine_and_its_values_are_as_in_the_file(world: World, mode: str) -> None:
    world.create_table(TABLE)
    world.write("a", FORMATS["csv"](ROWS))
    report = world.run(world.document(mode=mode, rules=[{"type": "notNull", "field": "name", "onFail": "skip"}]))
    assert world.rows("id") == [(1,), (2,)]
    assert (target_of(report).rows_rejected, report.quarantine_rows, report.quarantine_entries) == (1, 1, 1)
    assert reconciles(report)
    found = world.sql('select "sourceRecord", disposition, status, "row"->>\'amount\' from rejected')
    assert found == [(3, "dropped", "open", "-10.5")]


@every_quarantine
def test_a_warned_row_is_loaded_and_kept_in_quarantine_as_loaded(world: World, mode: str) -> None:
    world.create_table(TABLE)
    world.write("a", FORMATS["csv"](ROWS))
    report = world.run(world.document(mode=mode, rules=[{"type": "notNull", "field": "name", "onFail": "warn"}]))
    assert world.rows() == LOADED
    assert target_of(report).rows_warned == 1
    assert world.sql("select disposition from rejected") == [("loaded",)]
    assert [warning.code for warning in report.warnings] == ["rows.warned"]


@every_quarantine
def test_an_abort_rule_loads_nothing_and_keeps_all_rejects(world: World, mode: str) -> None:
    world.create_table(TABLE)
    world.write("old", FORMATS["csv"]([{**ROWS[0], "id": 0}]))
    world.run(world.document(mode=mode))
    world.storage.remove("old")
    world.write("a", FORMATS["csv"](ROWS))
    rules = [
        {"type": "notNull", "field": "name", "onFail": "skip"},
        {"type": "range", "field": "id", "max": 1, "onFail": "abort"},
    ]
    with pytest.raises(Terminal) as stopped:
        world.run(world.document(mode=mode, rules=rules))
    assert stopped.value.code == "rule.abort"
    assert "record 2, 3" in stopped.value.message
    assert world.rows("id") == [(0,)]
    assert sorted(world.sql('select "sourceRecord", disposition from rejected')) == [
        (2, "not_loaded"),
        (3, "not_loaded"),
        (3, "not_loaded"),
    ]


def test_a_value_that_does_not_fit_stops_the_load(world: World, mode: str) -> None:
    world.sql(TABLE)
    world.write("a", "id,name\n1,Ann\ntwo,Bob\n")
    with pytest.raises(Terminal) as stopped:
        world.run(world.document(mode=mode))
    assert stopped.value.code == "rule.abort"
    assert world.rows() == []


def test_a_value_that_does_not_fit_may_be_skipped(world: World, mode: str) -> None:
    world.sql(TABLE)
    world.write("a", "id,name\n1,Ann\ntwo,Bob\n")
    report = world.run(world.document(mode=mode, onTypeMismatch="skip"))
    assert world.rows("id, name") == [(1, "Ann")]
    assert reconciles(report)
    assert [(r.rule_id, r.violations) for r in report.rules] == [("type:id", 1)]


def test_an_extra_column_is_refused_by_name_before_anything_is_read(world: World, mode: str) -> None:
    world.sql(TABLE)
    world.write("a", "id,extra\n1,x\n")
    with pytest.raises(Failure) as stopped:
        world.run(world.document(mode=mode))
    assert stopped.value.code == "target.column_unknown"
    assert "extra" in stopped.value.message
    assert ("pass", "load") not in world.memory.steps


def test_a_missing_table_is_made_and_dropped_again_if_its_first_load_fails(world: World, mode: str) -> None:
    world.write("a", "id,name\n1,Ann\n")
    with pytest.raises(Terminal):
        world.run(
            world.document(mode=mode, rules=[{"type": "maxLength", "field": "name", "max": 1, "onFail": "abort"}])
        )
    assert world.sql("select to_regclass('t')") == [(None,)]
    world.run(world.document(mode=mode))
    assert world.rows("id, name") == [("1", "Ann")]
    written = world.memory.commits["load"].run_id
    assert world.sql("select length(_source_file_hash), _flow_run::text, _source_record from t") == [(64, written, 1)]


def test_a_newer_claim_shuts_an_older_worker_out(world: World, mode: str) -> None:
    world.sql(TABLE)
    world.write("a", FORMATS["csv"](ROWS))
    document = world.document(mode=mode)

    def overtake(step: str, node: str | None) -> None:
        if step == "load":
            world.sql("update flow_meta.fences set token = token + 10")

    world.memory.on_step = overtake
    with pytest.raises(LeaseLost):
        world.run(document)
    assert world.rows() == []


@every_destination
def test_a_crash_after_the_commit_loads_nothing_twice(world: World, mode: str) -> None:
    world.create_table(TABLE.replace(" primary key", "") if mode == "append" else TABLE)
    world.write("a", FORMATS["csv"](ROWS))
    document, run_id = world.document(mode=mode), str(uuid.uuid4())

    class PowerCut(BaseException):
        pass

    def cut(commit: object) -> None:
        raise PowerCut

    world.memory.on_committed = cut
    with pytest.raises(PowerCut):
        world.run(document, run_id=run_id)
    world.memory.on_committed = lambda commit: None
    report = world.run(document, run_id=run_id, attempt=2)
    assert world.rows() == LOADED
    assert target_of(report).rows_loaded == 3
    assert reconciles(report)


@pytest.mark.moves_files
def test_a_file_in_the_hands_of_a_worker_that_died_after_the_commit_is_put_away(world: World, mode: str) -> None:
    world.sql(TABLE)
    world.write("a", FORMATS["csv"](ROWS))
    document, run_id = world.document(mode=mode, source={"atomicity": world.storage.atomicity}), str(uuid.uuid4())

    class PowerCut(BaseException):
        pass

    def cut(commit: object) -> None:
        raise PowerCut

    world.memory.on_committed = cut
    with pytest.raises(PowerCut):
        world.run(document, run_id=run_id)
    assert world.storage.claimed("a")
    world.memory.on_committed = lambda commit: None
    world.run(document, run_id=run_id, attempt=2)
    assert world.storage.exists(".done/a")
    assert world.rows() == LOADED


def test_staging_that_a_server_crash_has_emptied_is_never_a_green_run(world: World, mode: str) -> None:
    world.sql(TABLE)
    world.sql("insert into t values (0, 'old')")
    world.write("a", FORMATS["csv"](ROWS))

    def empty_staging(step: str, node: str | None) -> None:
        if step == "load":
            for (name,) in world.sql("select tablename from pg_tables where schemaname = 'flow_staging'"):
                world.sql(f'truncate flow_staging."{name}"')

    world.memory.on_step = empty_staging
    with pytest.raises(Failure) as stopped:
        world.run(world.document(mode=mode))
    assert stopped.value.code == "staging.lost"
    assert world.rows("id") == [(0,)]


def test_nothing_of_ours_stays_in_staging(world: World, mode: str) -> None:
    world.sql(TABLE)
    world.write("a", FORMATS["csv"](ROWS))
    staging = "select tablename from pg_tables where schemaname = 'flow_staging' order by 1"
    before = world.sql(staging)
    world.run(world.document(mode=mode))
    assert world.sql(staging) == before


def test_a_failed_check_stops_the_load(world: World, mode: str) -> None:
    world.sql(TABLE)
    world.write("a", FORMATS["csv"](ROWS))
    with pytest.raises(Terminal) as stopped:
        world.run(world.document(mode=mode, checks={"rowCount": {"min": 4, "onFail": "abort"}}))
    assert stopped.value.code == "check.abort"
    assert world.rows() == []


@every_destination
def test_a_filter_counts_what_it_takes(world: World, mode: str) -> None:
    world.create_table(TABLE)
    world.write("a", FORMATS["csv"](ROWS))
    columns = [{"name": "id", "type": "integer"}]
    report = world.run(world.document(mode=mode, columns=columns, ops=[{"op": "filter", "where": "id > 1"}]))
    assert world.rows("id") == [(2,), (3,)]
    assert target_of(report).rows_filtered == 1
    assert reconciles(report)
