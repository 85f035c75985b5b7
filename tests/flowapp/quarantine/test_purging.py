"""Expired rows are deleted over each connection that responds; errors of the others are reported."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from executors.postgres import quarantine_pages
from executors.target_database import Counted, rejects
from flowapp.connections.fields import ConnectionFields
from flowapp.connections.services import add_connection
from flowapp.pipelines.services import save_version
from flowapp.quarantine import purging, workbench
from flowapp.quarantine.models import RowDecision
from flowapp.quarantine.purging import (
    continue_purges,
    counted_document,
    purge,
    purge_old_rows,
    rows_to_purge,
    set_retention,
)
from flowapp.quarantine.selectors import EntryFilter
from flowapp.runs.holds import Decider
from tests.flowapp.cli.conftest import flow
from tests.flowapp.quarantine.keeping import DEMO, keep, list_entries, save
from tests.flowapp.reading import words

__all__ = ["flow"]
pytestmark = pytest.mark.django_db


def test_a_database_that_does_not_answer_keeps_no_rows_of_others(alices, orders, warehouse, schema, caplog):
    keep(warehouse, orders, f'{schema}."My Orders"', "old", createdAt="2020-01-01")
    set_retention(alices, 30, Decider("ann"))
    add_connection(alices, "dead", ConnectionFields("postgres", "127.0.0.1", 1, "d", "u", "p"))
    document = json.dumps(DEMO | {"id": "nowhere"}).replace('"connection": "warehouse"', '"connection": "dead"')
    save_version(alices, document)

    assert purge_old_rows() == 1
    assert list_entries(alices, pipeline=orders) == []
    [reported] = [record for record in caplog.records if record.name == "flowapp.quarantine.purging"]
    assert "connection dead: target.unreachable" in reported.getMessage()


@pytest.mark.parametrize("unreadable", [{"day": "2026-13-45"}, {"status": "opne"}, {"field": "a\0b"}, {"rule": "\0"}])
def test_a_filter_that_cannot_be_read_throws_no_rows_away(as_, alices, orders, warehouse, schema, unreadable):
    keep(warehouse, orders, f'{schema}."My Orders"', "r1")
    form = {"pipeline": "orders", "older": "0", "reason": "asked for", "sure": "1", **unreadable}
    answer = as_("admin").post("/w/alices-team/errors/purge/", form)
    assert (answer.status_code, "filter.invalid" in words(answer)) == (422, True)
    assert len(list_entries(alices, pipeline=orders)) == 1
    assert as_("admin").get("/w/alices-team/errors/rows/", {"pipeline": "orders", **unreadable}).status_code == 422


def test_a_long_purge_continues_in_the_background(as_, alices, orders, warehouse, schema, monkeypatch):
    monkeypatch.setattr(quarantine_pages, "AT_ONCE", 2)
    monkeypatch.setattr(workbench, "SECONDS", 0)
    keep(warehouse, orders, f'{schema}."My Orders"', "old", n=5)
    form = {"pipeline": "orders", "older": "0", "reason": "asked for", "sure": "1"}
    page = words(as_("admin").post("/w/alices-team/errors/purge/", form, follow=True))
    assert "0 entries purged so far. The purge continues; see below." in page
    assert "0 entries so far, in progress" in page

    assert continue_purges() == 5
    assert continue_purges() == 0
    assert list_entries(alices, pipeline=orders) == []
    noted = RowDecision.objects.get()
    assert (noted.rows, noted.reason, "left" in noted.details) == (5, "asked for", False)


def test_a_continued_purge_waits_for_a_database_that_is_down(as_, alices, orders, warehouse, schema, caplog):
    keep(warehouse, orders, f'{schema}."My Orders"', "old", n=2)
    purge(alices, EntryFilter(pipeline=orders), 0, Decider("ann"), "asked for", seconds=-1)
    alices.connections.update(port=1)
    assert continue_purges() == 0
    assert "target.unreachable" in caplog.text
    alices.connections.update(port=warehouse.port)
    assert continue_purges() == 2


def test_a_purge_of_a_pipeline_that_is_gone_says_that_not_all_went(alices, orders, warehouse, schema):
    keep(warehouse, orders, f'{schema}."My Orders"', "old", n=2)
    purge(alices, EntryFilter(pipeline=orders), 0, Decider("ann"), "asked for", seconds=-1)
    type(orders).objects.filter(pk=orders.pk).update(slug="renamed")
    assert continue_purges() == 0
    noted = RowDecision.objects.get()
    assert (noted.details["brokeOff"], "left" in noted.details) == (True, False)


def test_counting_entries_to_purge_takes_no_longer_for_more_tables(alices, orders, warehouse, schema, monkeypatch):
    save(alices, "returns", f"{schema}.other")
    given, clock = [], iter([0, 5, 19.5])
    monkeypatch.setattr(purging, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(rejects, "count_older", lambda *args: given.append(args[-1]) or Counted(3, is_whole=True))
    assert rows_to_purge(alices, EntryFilter(), 0) == Counted(6, is_whole=True)
    assert given == [15, 0.5]


def test_a_count_that_is_given_up_asks_no_further_table(alices, orders, schema, monkeypatch):
    save(alices, "returns", f"{schema}.other")
    monkeypatch.setattr(rejects, "count_older", lambda *args: Counted(3, is_whole=False))
    assert rows_to_purge(alices, EntryFilter(), 0) == Counted(3, is_whole=False)
    assert counted_document(Counted(3, is_whole=False)) == {"entries": None, "atLeast": 3}


def test_the_command_line_reports_how_many_it_is_at_least(alices, orders, flow, settings, monkeypatch):
    settings.FLOW_WORKSPACE = "alices-team"
    monkeypatch.setattr(rejects, "count_older", lambda *args: Counted(300_000, is_whole=False))
    command = ("errors", "purge", "--older-than-days", "0", "--reason", "old", "--dry-run")
    assert "At least 300,000 entries would be purged. The exact number is unknown" in flow(*command).stdout
    assert flow(*command, "--json").json == {"entries": None, "atLeast": 300_000}
