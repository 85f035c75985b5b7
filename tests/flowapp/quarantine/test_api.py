"""Rejected rows by the API."""

from __future__ import annotations

import pytest

from flowapp.runs.models import RuleCount, Trigger
from flowapp.runs.services import queue_run
from tests.flowapp.quarantine.keeping import keep

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
        RuleCount.objects.create(
            workspace=run.workspace, run=run, position=place, node="check", rule=f"r{place}", type="notNull",
            field=field, on_fail="skip", violations=2,
        )  # fmt: skip

    def counts(by: str) -> list[int]:
        return [row["violations"] for row in api("viewer", f"errors/counts/?by={by}").json()["results"]]

    assert (counts("rule"), counts("field"), counts("pipeline")) == ([2, 2, 2], [4, 2], [6])


def test_what_is_asked_wrongly_or_belongs_to_others_is_told(api, orders):
    run = queue_run(orders, Trigger.CLI, send=False)

    assert api("viewer", "errors/?limit=0").status_code == 400
    assert api("viewer", "errors/counts/?by=nonsense").status_code == 400
    assert api("stranger", f"errors/?run={run.pk}", "bobs-team").status_code == 404
