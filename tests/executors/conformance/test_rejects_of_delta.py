"""Rejected rows of a Delta table in a PostgreSQL database: the two commit one after the other, and agree in the end."""

from __future__ import annotations

import uuid

import pytest

from executors.destinations import load_destination
from executors.destinations.delta import handler
from executors.destinations.delta.rejects import RejectStore
from executors.errors import LeaseLost, Terminal, Transient
from executors.load_record import RunRef
from executors.report import RunReport
from tests.destinations.delta.world import DeltaWorld
from tests.executors.conformance.world import World, target_of

pytestmark = [
    pytest.mark.spark,
    pytest.mark.postgres,
    pytest.mark.parametrize("destination", ["delta"], indirect=True),
]
RULES = [{"type": "notNull", "field": "name", "onFail": "skip"}]
FILE = "id,name\n1,Ann\n2,\n3,\n"
ENTRIES = 'select "sourceRecord", disposition, status from rejected order by 1, id'


class PowerCut(BaseException):
    pass


@pytest.fixture
def lake(world: World) -> DeltaWorld:
    assert isinstance(world, DeltaWorld)
    world.write("a", FILE)
    return world


def run_failing(lake: DeltaWorld, owner: object, name: str, error: BaseException) -> str:
    """Make one attempt of a run, which fails when it calls a function; return the id of the run."""
    run_id = str(uuid.uuid4())

    def call(*args: object, **more: object) -> None:
        raise error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, call)
        with pytest.raises(type(error)):
            lake.run(lake.document(rules=RULES), run_id=run_id)
    return run_id


def run_again(lake: DeltaWorld, run_id: str) -> RunReport:
    return lake.run(lake.document(rules=RULES), run_id=run_id, attempt=2)


@pytest.mark.parametrize("error", [PowerCut(), Transient("target.unreachable", "The database is away.")])
def test_a_load_that_was_not_settled_is_settled_by_the_next_attempt(lake: DeltaWorld, error: BaseException) -> None:
    run_id = run_failing(lake, RejectStore, "settle", error)
    assert lake.sql(ENTRIES) == [(2, "not_loaded", "open"), (3, "not_loaded", "open")]
    report = run_again(lake, run_id)
    assert lake.rows("id") == [("1",)]
    assert lake.sql(ENTRIES) == [(2, "dropped", "open"), (3, "dropped", "open")]
    assert (target_of(report).rows_rejected, report.quarantine_rows, report.quarantine_entries) == (2, 2, 2)


def test_a_load_that_was_not_settled_is_settled_by_the_next_run(lake: DeltaWorld) -> None:
    run_failing(lake, RejectStore, "settle", PowerCut())
    assert lake.run(lake.document(rules=RULES)).nothing_new
    assert lake.sql(ENTRIES) == [(2, "dropped", "open"), (3, "dropped", "open")]


def test_a_load_is_settled_when_its_run_is_given_up(lake: DeltaWorld) -> None:
    run_id = run_failing(lake, RejectStore, "settle", PowerCut())
    job = lake.job(lake.document(rules=RULES), run_id, attempt=2)
    (target,) = job.pipeline.targets()
    ref = RunRef(run_id, job.tenant, job.pipeline.id, target.id, 2, job.token)
    (commit,) = load_destination(target).fence_and_find_commits(target, ref, job.connections, job.stores)
    assert commit.counts.quarantine_rows == 2
    assert lake.sql(ENTRIES) == [(2, "dropped", "open"), (3, "dropped", "open")]


def test_the_entries_of_a_load_that_did_not_commit_are_replaced(lake: DeltaWorld) -> None:
    run_id = run_failing(lake, handler, "commit_load", PowerCut())
    assert [disposition for _, disposition, _ in lake.sql(ENTRIES)] == ["not_loaded"] * 2
    run_again(lake, run_id)
    assert lake.sql(ENTRIES) == [(2, "dropped", "open"), (3, "dropped", "open")]
    assert lake.rows("id") == [("1",)]


def test_an_attempt_that_was_overtaken_changes_neither_table_nor_quarantine(lake: DeltaWorld) -> None:
    def overtake(step: str, node: str | None) -> None:
        if step == "load":
            lake.sql("update flow_meta.fences set token = token + 10")

    lake.memory.on_step = overtake
    with pytest.raises(LeaseLost):
        lake.run(lake.document(rules=RULES))
    assert lake.rows("id") == []
    assert lake.sql("select to_regclass('rejected') is null or not exists (select from rejected)") == [(True,)]


def test_a_full_refresh_supersedes_the_rows_that_earlier_runs_rejected(lake: DeltaWorld) -> None:
    lake.run(lake.document(rules=RULES, mode="truncate"))
    lake.write("b", "id,name\n4,\n")
    lake.run(lake.document(rules=RULES, mode="truncate"))
    statuses = lake.sql("select status, count(*) from rejected group by 1 order by 1")
    assert statuses == [("open", 3), ("superseded", 2)]
    assert lake.memory.commits["load"].record.superseded_entries == 2


def test_rows_that_a_failed_run_rejected_are_closed_once_their_file_is_loaded(lake: DeltaWorld) -> None:
    rules = [*RULES, {"type": "range", "field": "id", "max": 1, "onFail": "abort"}]
    with pytest.raises(Terminal):
        lake.run(lake.document(rules=rules))
    lake.run(lake.document(rules=RULES))
    found = lake.sql("select disposition, status, count(*) from rejected group by 1, 2 order by 1, 2")
    assert found == [("dropped", "open", 2), ("not_loaded", "fixed", 4)]


def test_a_table_of_the_database_with_the_same_name_does_not_take_over_its_files(lake: DeltaWorld) -> None:
    document = lake.document(rules=RULES)
    lake.run(document)
    ((schema, table),) = lake.sql(
        "select target_schema, target_table from flow_meta.load_commits where node = 'load'"
        " and pipeline = 'case' and tenant = %s",
        lake.tenant,
    )
    assert (schema, table) == (f"warehouse:{lake.schema}", "t")


def test_rows_are_rejected_without_a_quarantine_too(lake: DeltaWorld) -> None:
    report = lake.run(lake.document(rules=RULES, quarantine=False))
    assert (target_of(report).rows_rejected, report.quarantine_rows) == (2, 0)
    assert lake.sql("select to_regclass('rejected')") == [(None,)]


def test_a_failed_check_stops_the_load_before_the_table_changes(lake: DeltaWorld) -> None:
    checks = {"rowCount": {"min": 2, "onFail": "abort"}, "nullRate": {"column": "name", "max": 0.5, "onFail": "warn"}}
    with pytest.raises(Terminal) as stopped:
        lake.run(lake.document(rules=RULES, checks=checks))
    assert stopped.value.code == "check.abort"
    assert "rowCount: 1 row, fewer than 2" in stopped.value.message
    assert lake.rows("id") == []
    assert lake.sql(ENTRIES) == [(2, "not_loaded", "open"), (3, "not_loaded", "open")]
    report = lake.run(lake.document(rules=RULES, checks={"unique": {"column": "id", "onFail": "abort"}}))
    assert [(one.check, one.ok) for one in report.checks] == [("unique", True)]
    assert lake.rows("id") == [("1",)]
