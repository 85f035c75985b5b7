"""Work on rejected rows of a Delta table, which are in the database that the quarantine names."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from executors.load_record import RunRef
from executors.postgres.client import connect
from executors.postgres.meta import ensure_meta
from executors.postgres.replay_results import write_results
from executors.rejected_rows import RowResult
from flowapp.connections.fields import ConnectionFields
from flowapp.connections.services import add_connection
from flowapp.connections.store_fields import StoreFields
from flowapp.quarantine.choosing import choose_alike, choose_by_keys
from flowapp.quarantine.exporting import list_all
from flowapp.quarantine.purging import purge_old_rows, set_retention
from flowapp.quarantine.replaying import ask_for_runs
from flowapp.quarantine.selectors import EntryFilter
from flowapp.runs.holds import Decider
from flowapp.runs.models import Run, RunKind, Trigger
from flowapp.runs.stored_report import StoredReport
from ir.errors import FlowError
from tests.flowapp.delta_documents import rejecting_nodes
from tests.flowapp.quarantine.keeping import keep, list_entries
from tests.flowapp.reading import words

pytestmark = pytest.mark.django_db
ERRORS = "/w/alices-team/errors/"
ANN = Decider("ann")


@pytest.fixture
def table(schema) -> str:
    return f"{schema}.rejects"


@pytest.fixture
def stored_in(save, connected, table) -> Any:
    """Saves a version of the pipeline whose rejected rows are in the database of this connection."""
    add_connection(connected, "lake", StoreFields("folder", {"path": "sales"}))

    def call(connection: str | None) -> Any:
        quarantine = None if connection is None else {"table": table, "connection": connection}
        return save(nodes=rejecting_nodes(quarantine)).pipeline

    return call


@pytest.fixture
def pipeline(stored_in) -> Any:
    return stored_in("warehouse")


@pytest.fixture
def run(pipeline, warehouse, table) -> str:
    """The run of two rejected rows."""
    return keep(warehouse, pipeline, table, "r1", n=2, row={"id": None, "name": "Ann"}, field="id")


@pytest.fixture
def chosen(as_, run) -> str:
    """The address of a selection of both."""
    address: str = as_("editor").post(f"{ERRORS}rows/select/", {"all": "1", "run": run})["Location"]
    return address


def ask(connected: Any, pipeline: Any, kind: RunKind = RunKind.REPLAY, **options: Any) -> Run:
    chosen = choose_alike(connected, EntryFilter(pipeline=pipeline), ANN)
    (run,) = ask_for_runs(kind, chosen, Trigger.MANUAL, ANN, send=False, **options)
    return run


def test_rejected_rows_are_listed_with_their_database(as_, connected, run):
    assert {entry["connection"] for entry in list_entries(connected)} == {"warehouse"}
    assert "Ann" in words(as_("editor").get(f"{ERRORS}rows/?run={run}"))
    assert as_("editor").get(f"{ERRORS}rows/{run}/r1-0/").status_code == 200


def test_a_value_is_edited(as_, connected, run, chosen):
    answer = as_("editor").post(f"{chosen}fix/", {f"cell|{run}:r1-0|id": "7"}, follow=True)
    assert "1 row is fixed." in words(answer)
    assert [entry["fixedRow"]["id"] for entry in list_entries(connected) if entry["fixedRow"]] == ["7"]


def test_rows_are_ignored_and_opened_again(as_, connected, chosen):
    form = {"verb": "ignore", "reason": "test data"}
    assert "2 rows are ignored." in words(as_("editor").post(f"{chosen}change/", form, follow=True))
    assert {entry["status"] for entry in list_entries(connected)} == {"ignored"}
    as_("editor").post(f"{chosen}change/", {"verb": "reopen"})
    assert {entry["status"] for entry in list_entries(connected)} == {"open"}


def test_rows_are_exported(connected, pipeline, run):
    assert [entry["rowId"] for entry in list_all(connected, EntryFilter(pipeline=pipeline))] == ["r1-0", "r1-1"]


def test_rows_are_purged_after_their_retention(connected, pipeline, warehouse, table):
    keep(warehouse, pipeline, table, "old", createdAt="2020-01-01")
    set_retention(connected, 30, ANN)
    assert purge_old_rows() == 1
    assert list_entries(connected) == []


@pytest.mark.parametrize("kind", [RunKind.REPLAY, RunKind.RECHECK, RunKind.FIX])
@pytest.mark.usefixtures("run")
def test_runs_over_the_rows_are_requested(connected, pipeline, kind):
    options = {"column": "id", "expression": "coalesce(id, '0')"} if kind == RunKind.FIX else {}
    asked = ask(connected, pipeline, kind, **options)
    assert (asked.kind, asked.row_job.node) == (kind, "load")


@pytest.mark.usefixtures("run")
def test_a_replay_of_rows_in_another_database_than_that_of_the_newest_version_is_refused(
    connected, pipeline, stored_in
):
    add_connection(connected, "audit", ConnectionFields("postgres", "127.0.0.1", 1, "audit", "etl", "s3cret"))
    for newest, says in (("audit", "stores them over 'audit'"), (None, "does not store them")):
        chosen = choose_alike(connected, EntryFilter(pipeline=pipeline, rule="r1", run=Run.objects.get()), ANN)
        stored_in(newest)
        with pytest.raises(FlowError, match="stored over 'warehouse'; the newest version") as refused:
            ask_for_runs(RunKind.REPLAY, chosen, Trigger.MANUAL, ANN, send=False)
        assert refused.value.code == "replay.elsewhere"
        assert says in refused.value.message
    assert Run.objects.count() == 1


def test_rows_of_two_databases_are_not_replayed_together(connected, stored_in, warehouse, table):
    fields = (warehouse.host, warehouse.port, warehouse.database, warehouse.user, warehouse.password)
    add_connection(connected, "before", ConnectionFields("postgres", *fields))
    runs = [keep(warehouse, stored_in(name), table, "r1") for name in ("before", "warehouse")]
    chosen = choose_by_keys(connected, [f"{run}:r1-0" for run in runs], ANN)
    with pytest.raises(FlowError, match="stored over 'before'; the newest version stores them over 'warehouse'"):
        ask_for_runs(RunKind.REPLAY, chosen, Trigger.MANUAL, ANN, send=False)


def test_the_page_of_a_replay_lists_the_result_of_each_row(as_, connected, pipeline, warehouse, run):
    replay = ask(connected, pipeline)
    report = StoredReport(row_results={"loaded": 1}).to_json()
    Run.objects.filter(pk=replay.pk).update(state="succeeded", report=report, ended_at=timezone.now(), attempt=1)
    with connect(warehouse, autocommit=True) as conn:
        ensure_meta(conn)
        ref = RunRef(str(replay.pk), str(connected.pk), pipeline.slug, "load", 1, 1)
        with conn.transaction():
            write_results(conn, ref, [RowResult(1, run, "r1-0", "a.csv", 7, "loaded")])
    page = words(as_("viewer").get(f"/w/alices-team/runs/{replay.pk}/"))
    assert "a.csv record 7 loaded" in page
