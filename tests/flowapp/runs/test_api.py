"""Runs by the API."""

from __future__ import annotations

from uuid import uuid4

import pytest

from flowapp.runs.models import Run, State, Trigger
from flowapp.runs.selectors import run_document
from flowapp.runs.services import queue_run

pytestmark = pytest.mark.django_db
HERE = {"X-Flow-Workspace": "alices-team"}


@pytest.fixture
def api(as_):
    """Return a function that sends requests with a role."""

    def ask(role: str, method: str, path: str, data=None):
        more = {} if method == "get" else {"content_type": "application/json"}
        return getattr(as_(role), method)(f"/api/{path}", data or {}, headers=HERE, **more)

    return ask


@pytest.fixture
def queued(pipeline) -> Run:
    return queue_run(pipeline, Trigger.MANUAL, send=False)


def test_a_run_is_queued(api, pipeline):
    answer = api("editor", "post", "pipelines/numbers/runs/")

    assert answer.status_code == 202
    reported = answer.json()
    assert (reported["pipeline"], reported["state"], reported["trigger"]) == ("numbers", "queued", "api")
    assert reported["run"] == str(Run.objects.get().pk)


def test_a_busy_pipeline_waits_or_refuses_as_asked(api, queued):
    refused = api("editor", "post", "pipelines/numbers/runs/", {"ifBusy": "refuse"})

    assert (refused.status_code, refused.json()["code"]) == (409, "run.busy")
    assert api("editor", "post", "pipelines/numbers/runs/", {"ifBusy": "wait"}).status_code == 202


def test_another_wish_than_waiting_or_refusing_is_refused(api, pipeline):
    assert api("editor", "post", "pipelines/numbers/runs/", {"ifBusy": "hurry"}).status_code == 400


def test_loading_again_is_recorded_with_its_reason(api, pipeline):
    api("editor", "post", "pipelines/numbers/runs/", {"loadAgain": "Corrected files."})

    pipeline.refresh_from_db()
    assert pipeline.forgotten_reason == "Corrected files."


def test_a_run_is_reported_as_the_command_line_reports_it(api, queued):
    assert api("viewer", "get", f"runs/{queued.pk}/").json() == run_document(queued)


def test_runs_are_listed_by_cursor_and_narrowed(api, pipeline):
    runs = [queue_run(pipeline, Trigger.MANUAL, send=False) for _ in range(3)]
    first = api("viewer", "get", "runs/?limit=2").json()

    assert [run["run"] for run in first["results"]] == [str(run.pk) for run in reversed(runs)][:2]
    rest = api("viewer", "get", first["next"].partition("/api/")[2]).json()
    assert [run["run"] for run in rest["results"]] == [str(runs[0].pk)]
    assert api("viewer", "get", "runs/?state=failed").json()["results"] == []
    assert api("viewer", "get", "runs/?state=nonsense").status_code == 400
    assert api("viewer", "get", "runs/?pipeline=unknown").status_code == 404


def test_a_queued_run_is_cancelled_at_once_and_only_once(api, queued):
    answer = api("editor", "post", f"runs/{queued.pk}/cancel/")

    assert (answer.status_code, answer.json()["state"]) == (202, State.CANCELLED)
    assert api("editor", "post", f"runs/{queued.pk}/cancel/").status_code == 409


def test_runs_of_other_workspaces_are_as_unknown_as_none(as_, queued):
    client, theirs = as_("stranger"), {"X-Flow-Workspace": "bobs-team"}
    answers = [client.get(f"/api/runs/{run}/", headers=theirs).json() for run in (queued.pk, uuid4())]

    assert [answer["status"] for answer in answers] == [404, 404]
    assert {answer["code"] for answer in answers} == {"run.unknown"}
    assert client.get("/api/runs/", headers=theirs).json()["results"] == []
    assert client.post(f"/api/runs/{queued.pk}/cancel/", headers=theirs).status_code == 404
