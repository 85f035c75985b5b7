"""The page of changes of columns, and its API."""

from __future__ import annotations

import pytest

from flowapp.runs.models import Run
from tests.flowapp.reading import words

from .conftest import ADD, KEY, WIDEN, states

pytestmark = pytest.mark.django_db
PAGE = "/w/alices-team/schema-changes/"
API = "/api/schema-changes/"
HERE = {"X-Flow-Workspace": "alices-team"}


def test_the_inbox_shows_what_would_change_what_it_costs_and_whom_it_touches(as_, find, save, schema):
    from tests.flowapp.conftest import make_document

    find(ADD, WIDEN, KEY)
    other = make_document("other", schema)["nodes"]
    save(slug="other", nodes=other)
    text = words(as_("viewer").get(PAGE))
    assert "Column 'extra' (text) is new." in text
    assert "PostgreSQL writes all rows anew (8.0 KB with indexes)." in text
    assert "A key is never changed." in text
    assert "1 other pipeline loads or reads this table: other" in text
    assert "Only editors can decide." in text
    assert "Accept" not in text


def test_one_press_accepts_the_changes_of_a_pipeline_and_runs_it(as_, find):
    changes = find(ADD, WIDEN)
    answer = as_("editor").post(f"{PAGE}accept/", {"change": [change.pk for change in changes], "run": "1"})
    assert answer.status_code == 302
    assert answer.url == f"/w/alices-team/runs/{Run.objects.latest('number').pk}/"
    assert set(states().values()) == {"accepted"}


def test_a_rejection_is_stored_with_its_reason(as_, find):
    (change,) = find(ADD)
    text = words(as_("editor").post(f"{PAGE}{change.pk}/reject/", {"reason": "wrong <b>file</b>"}, follow=True))
    assert "rejected by editor@example.com" in text
    assert "wrong <b>file</b>" in text


def test_viewers_and_other_workspaces_decide_nothing(as_, find):
    (change,) = find(ADD)
    assert as_("viewer").post(f"{PAGE}accept/", {"change": change.pk}).status_code == 403
    assert as_("viewer").post(f"{PAGE}{change.pk}/reject/", {"reason": "x"}).status_code == 403
    change.workspace = elsewhere()
    change.save()
    assert as_("editor").post(f"{PAGE}accept/", {"change": change.pk}).status_code == 404
    assert as_("editor").post(f"{API}{change.pk}/accept/", {}, "application/json", headers=HERE).status_code == 404
    assert "extra" not in words(as_("editor").get(PAGE))
    assert states() == {"add": "pending"}


def elsewhere():
    from flowapp.accounts.services import ensure_workspace

    return ensure_workspace("bobs-team")


def test_the_api_lists_accepts_and_rejects(as_, find):
    client, (add, widen) = as_("editor"), find(ADD, WIDEN)
    found = client.get(f"{API}?state=pending&pipeline=numbers", headers=HERE).json()["results"]
    assert {one["kind"]: one["statement"] for one in found} == {"add": ADD.statement, "widen": WIDEN.statement}
    answer = client.post(f"{API}{add.pk}/accept/", {"run": True}, "application/json", headers=HERE).json()
    assert (answer["state"], answer["decidedBy"]) == ("accepted", "editor@example.com")
    assert Run.objects.count() == 2
    answer = client.post(f"{API}{widen.pk}/reject/", {"reason": "too big"}, "application/json", headers=HERE).json()
    assert (answer["state"], answer["reason"]) == ("rejected", "too big")
    assert client.post(f"{API}{add.pk}/accept/", {}, "application/json", headers=HERE).status_code == 409


def test_the_page_of_a_refused_run_leads_to_the_changes(as_, find):
    find(ADD)
    run = Run.objects.latest("number")
    Run.objects.update(state="failed", error_code="schema.change_pending", error_message="Changed.")
    page = as_("viewer").get(f"/w/alices-team/runs/{run.pk}/").content.decode()
    assert 'href="/w/alices-team/schema-changes/?pipeline=numbers"' in page
