"""Rejected rows by the API."""

from __future__ import annotations

import csv
import io
import json

import pytest

from executors.target_database import open_rejects
from flowapp.connections.fields import ConnectionFields
from flowapp.connections.services import add_connection
from flowapp.pipelines.selectors import get_version
from flowapp.pipelines.services import save_version
from flowapp.quarantine import selectors
from flowapp.quarantine.models import RowDecision
from flowapp.quarantine.records import rows_of
from flowapp.runs.models import Run, Trigger
from flowapp.runs.services import queue_run
from tests.flowapp.quarantine.keeping import count_rule, keep

pytestmark = pytest.mark.django_db


@pytest.fixture
def api(as_):
    return lambda role, path, workspace="alices-team": as_(role).get(
        f"/api/{path}", headers={"X-Flow-Workspace": workspace}
    )


@pytest.fixture
def table(schema) -> str:
    return f'{schema}."My Orders"'


def test_an_editor_gets_rows_with_values_and_a_viewer_without(api, orders, warehouse, table):
    keep(warehouse, orders, table, "r1")
    seen, hidden = (api(role, "errors/?pipeline=orders").json()["results"][0] for role in ("editor", "viewer"))

    assert (seen["row"], seen["valuesHidden"]) == ({"id": 1}, False)
    assert (hidden["row"], hidden["valuesHidden"]) == (None, True)
    assert hidden["sourceRecord"] == 7


def test_entries_come_by_cursor(api, orders, warehouse, table):
    keep(warehouse, orders, table, "r1", n=3)
    first = api("viewer", "errors/?limit=2").json()
    rest = api("viewer", first["next"].partition("/api/")[2]).json()

    assert [entry["rowId"] for entry in first["results"] + rest["results"]] == ["r1-2", "r1-1", "r1-0"]
    assert rest["next"] is None


def test_counts_come_by_rule_field_and_pipeline(api, orders):
    run = queue_run(orders, Trigger.CLI, send=False)
    for place, field in enumerate(("a", "a", "b")):
        count_rule(run, 2, f"r{place}", field)

    def counts(by: str) -> list[int]:
        return [row["violations"] for row in api("viewer", f"errors/counts/?by={by}").json()["results"]]

    assert (counts("rule"), counts("field"), counts("pipeline")) == ([2, 2, 2], [4, 2], [6])


@pytest.fixture
def send(as_):
    def call(role, method, path, body, workspace="alices-team"):
        headers = {"X-Flow-Workspace": workspace}
        return getattr(as_(role), method)(f"/api/{path}", body, content_type="application/json", headers=headers)

    return call


def test_a_row_is_fixed_ignored_and_opened_again(send, orders, warehouse, table):
    key = f"{keep(warehouse, orders, table, 'r1', row={'id': '1'})}:r1-0"
    fixed = send("editor", "patch", f"errors/{key}/", {"cells": {"id": "2"}, "revision": 0}).json()["results"][0]
    assert (fixed["status"], fixed["row"], fixed["fixedRow"], fixed["revision"]) == (
        "fixed",
        {"id": "1"},
        {"id": "2"},
        1,
    )
    assert send("editor", "patch", f"errors/{key}/", {"cells": {"id": "3"}, "revision": 0}).status_code == 409
    ignored = send("editor", "patch", f"errors/{fixed['id']}/", {"status": "ignored", "reason": "known"})
    assert ignored.json()["results"][0]["status"] == "ignored"
    assert send("editor", "patch", f"errors/{key}/", {"status": "ignored"}).status_code == 422
    assert send("editor", "patch", f"errors/{key}/", {"status": "open"}).json()["results"][0]["status"] == "fixed"


def test_many_rows_are_decided_about_at_once(send, api, orders, warehouse, table):
    keep(warehouse, orders, table, "r1", n=3)
    body = {"filter": {"pipeline": "orders", "rule": "r1"}, "action": "ignore", "reason": "known"}
    assert send("editor", "post", "errors/decide/", body).json() == {"changed": 3, "excluded": 0}
    assert len(api("viewer", "errors/?status=ignored").json()["results"]) == 3
    assert send("editor", "post", "errors/decide/", {**body, "filter": {}}).status_code == 422


def test_the_request_for_a_replay_shows_its_warnings_first(send, orders, warehouse, table):
    run = keep(warehouse, orders, table, "r1", n=2)
    response = send("editor", "post", "errors/replay/", {"ids": [f"{run}:r1-0"], "reason": "fixed"})
    assert response.status_code == 202
    (replay,) = response.json()["runs"]
    assert Run.objects.get(pk=replay).kind == "replay"
    assert response.json()["rows"] == 1
    again = send("editor", "post", "errors/replay/", {"filter": {"run": run}, "recheck": True}).json()
    assert Run.objects.get(pk=again["runs"][0]).kind == "recheck"
    assert RowDecision.objects.get(run=replay).reason == "fixed"


def test_an_expression_by_api_replaces_manual_values_only_on_request(send, orders, warehouse, table):
    run = keep(warehouse, orders, table, "r1")
    wish = {"ids": [f"{run}:r1-0"], "field": "id", "expression": "trim(id)"}
    for extra, replaces in (({}, False), ({"replaceTyped": True}, True)):
        (fix,) = send("editor", "post", "errors/fix/", {**wish, **extra}).json()["runs"]
        assert rows_of(Run.objects.get(pk=fix)).replaces_typed is replaces


def test_a_viewer_changes_replays_searches_and_exports_nothing(send, api, orders, warehouse, table):
    key = f"{keep(warehouse, orders, table, 'r1')}:r1-0"
    assert send("viewer", "patch", f"errors/{key}/", {"cells": {"id": "2"}}).status_code == 403
    for path in ("replay", "fix", "decide"):
        assert send("viewer", "post", f"errors/{path}/", {"ids": [key]}).status_code == 403
    assert api("viewer", "errors/?search=1").status_code == 403
    assert api("viewer", "errors/export/").status_code == 403
    assert send("editor", "post", "errors/purge/", {}).status_code == 403


def test_a_search_finds_text_in_the_row(api, orders, warehouse, table):
    keep(warehouse, orders, table, "r1", row={"name": "50% off"})
    keep(warehouse, orders, table, "r2", row={"name": "5 off"})
    found = api("editor", "errors/?search=50%25").json()
    assert [entry["ruleId"] for entry in found["results"]] == ["r1"]
    assert (found["partial"], found["next"]) == (False, None)


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", "\uff1d"])
def test_an_exported_cell_is_text_to_a_spreadsheet(api, orders, warehouse, table, start):
    keep(warehouse, orders, table, "r1", sourceFile=f"{start}HYPERLINK(1)", row={"name": "=1+1"})
    answer = api("editor", "errors/export/?file=csv&pipeline=orders")
    (line,) = list(csv.DictReader(io.StringIO(answer.getvalue().decode(), newline="")))
    assert line["sourceFile"] == f"'{start}HYPERLINK(1)"
    assert json.loads(line["row"]) == {"name": "=1+1"}
    assert RowDecision.objects.get().action == "export"


def test_an_export_as_json_holds_rows_as_they_are(api, orders, warehouse, table):
    keep(warehouse, orders, table, "r1", n=2, row={"name": "<img src=x onerror=alert(1)>"})
    answer = api("editor", "errors/export/?file=json&rule=r1")
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Content-Disposition"].startswith("attachment")
    assert [entry["row"]["name"] for entry in json.loads(answer.getvalue())] == ["<img src=x onerror=alert(1)>"] * 2
    assert json.loads(api("editor", "errors/export/?file=json&rule=none").getvalue()) == []


def test_an_export_reports_how_many_entries_went_out(api, orders, warehouse, table):
    keep(warehouse, orders, table, "r1", n=3)
    api("editor", "errors/export/?file=csv&pipeline=orders").getvalue()
    noted = RowDecision.objects.get()
    assert (noted.rows, "brokeOff" in noted.details) == (3, False)


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_an_export_from_a_database_that_is_down_is_no_file_without_rows(api, alices, orders, warehouse, table, kind):
    keep(warehouse, orders, table, "r1")
    alices.connections.update(port=1)
    assert api("editor", f"errors/export/?file={kind}&pipeline=orders").status_code == 503
    assert not RowDecision.objects.exists()


@pytest.mark.parametrize("days", [36_501, 10**12])
def test_no_calendar_is_left_behind(send, orders, days):
    wish = {"filter": {}, "olderThanDays": days, "reason": "old", "dryRun": True}
    assert send("admin", "post", "errors/purge/", wish).json()["code"] == "purge.days_invalid"


def test_rows_by_the_numbers_of_their_entries_ask_each_database_once(send, api, orders, warehouse, table, monkeypatch):
    keep(warehouse, orders, table, "r1", n=3)
    numbers = [str(entry["id"]) for entry in api("viewer", "errors/").json()["results"]]
    opened = []
    monkeypatch.setattr(selectors, "open_rejects", lambda *a, **more: (opened.append(a), open_rejects(*a, **more))[1])
    body = {"ids": numbers, "action": "ignore", "reason": "known"}
    assert send("editor", "post", "errors/decide/", body).json() == {"changed": 3, "excluded": 0}
    assert len(opened) == 2  # for the keys of the numbers, and for the rows of the keys


@pytest.mark.parametrize("number", ["9" * 19, "9" * 30, "9" * 5000])
def test_a_number_that_no_entry_has_is_no_row(send, orders, number):
    answer = send("editor", "post", "errors/decide/", {"ids": [number], "action": "ignore", "reason": "known"})
    assert (answer.status_code, answer.json()["code"]) == (404, "errors.unknown")


def test_an_invalid_number_is_no_row(send, orders):
    assert send("editor", "patch", "errors/²/", {"status": "ignored"}).status_code == 404


def test_what_was_thrown_away_is_noted_although_another_database_is_down(send, alices, orders, warehouse, table):
    keep(warehouse, orders, table, "r1", n=2, createdAt="2020-01-01T00:00:00Z")
    document = json.loads(get_version(orders).document) | {"id": "others"}
    document["nodes"][-1]["connection"] = "yonder"
    add_connection(alices, "yonder", ConnectionFields("postgres", "127.0.0.1", 1, "d", "u", "p"))
    save_version(alices, json.dumps(document))
    wish = {"filter": {}, "olderThanDays": 30, "reason": "old"}
    assert send("admin", "post", "errors/purge/", wish).status_code == 503
    assert RowDecision.objects.get().rows == 2


def test_old_entries_are_counted_and_then_thrown_away(send, api, orders, warehouse, table):
    run = keep(warehouse, orders, table, "r1", n=3)
    keep(warehouse, orders, table, "r2", run)
    body = {"filter": {"pipeline": "orders", "rule": "r1"}, "olderThanDays": 0, "reason": "asked for"}
    assert send("admin", "post", "errors/purge/", {**body, "dryRun": True}).json() == {"entries": 3}
    assert send("admin", "post", "errors/purge/", {**body, "olderThanDays": 1}).json() == {
        "entries": 0,
        "complete": True,
    }
    assert send("admin", "post", "errors/purge/", body).json() == {"entries": 3, "complete": True}
    assert [entry["ruleId"] for entry in api("viewer", "errors/").json()["results"]] == ["r2"]


def test_invalid_requests_and_rows_of_others_are_refused(api, orders):
    run = queue_run(orders, Trigger.CLI, send=False)

    assert api("viewer", "errors/?limit=0").status_code == 400
    assert api("viewer", "errors/counts/?by=nonsense").status_code == 400
    assert api("stranger", f"errors/?run={run.pk}", "bobs-team").status_code == 404
