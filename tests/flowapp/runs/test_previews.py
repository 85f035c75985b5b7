"""Previews in the control plane: they do not count as runs, and their values do not stay."""

from __future__ import annotations

import pytest
from django.utils import timezone

from executors.effects import Effect, KeyMatch, Sample
from executors.errors import Terminal
from executors.report import NodeReport, RunReport
from flowapp.accounts.models import User
from flowapp.alerts.models import Alert
from flowapp.editor.listing import Filters, list_rows
from flowapp.processes.retention import delete_old_rows
from flowapp.runs.dispatch import execute_claimed, preview_inline, run_to_end
from flowapp.runs.leases import claim_run
from flowapp.runs.models import EffectSample, Run, State, Trigger
from flowapp.runs.recovery import adopt_inline
from flowapp.runs.retained import SAMPLES
from flowapp.runs.selectors import last_states, list_runs, run_document
from flowapp.runs.services import queue_preview, queue_run
from tests.flowapp.reading import words

HERE = {"X-Flow-Workspace": "alices-team"}
KEYS = KeyMatch(("id",), 2, 1, 3, 1, {"name": 1}, (Sample({"id": "7"}, {"name": ("<b>Bobby</b>", None)}),))
EFFECT = Effect("load", "public.numbers", "upsert", False, 5, 2, updated=1, unchanged=3, keys=KEYS)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("sent")]


def counts(job, ports) -> RunReport:
    """An engine that has counted."""
    numbers = {"rows_read": 7, "rows_rejected": 1, **EFFECT.node_fields()}
    return RunReport(nodes=[NodeReport("load", "target", **numbers)], effects=[EFFECT])


def fails(job, ports) -> RunReport:
    raise Terminal("rule.abort", "Rows are wrong.")


@pytest.fixture
def previewed(pipeline) -> Run:
    return preview_inline(pipeline, engine=counts)


def test_it_reports_what_would_change(previewed):
    (effect,) = run_document(previewed, sees_values=True)["effects"]
    assert previewed.state == State.SUCCEEDED
    assert (effect["rowsBefore"], effect["rowsInserted"], effect["rowsAfter"]) == (5, 2, 7)
    assert effect["keys"]["changedColumns"] == {"name": 1}
    assert effect["samples"] == [{"key": {"id": "7"}, "changes": {"name": ["<b>Bobby</b>", None]}}]
    assert run_document(previewed)["effects"][0]["samples"] is None


def test_it_is_no_run_of_the_pipeline(pipeline, previewed):
    assert last_states(pipeline.workspace) == {pipeline.pk: None}
    assert not list_runs(pipeline.workspace).exists()
    (row,) = list_rows(pipeline.workspace, Filters(), "", User.objects.create(email="a@example.com")).rows
    assert row.last is None


def test_one_that_fails_calls_nobody(pipeline):
    run = preview_inline(pipeline, engine=fails)
    assert (run.state, run.error_code) == (State.FAILED, "rule.abort")
    assert not Alert.objects.exists()


def test_one_that_succeeds_resolves_no_alert(pipeline):
    run_to_end(queue_run(pipeline, Trigger.CLI, send=False), fails)
    preview_inline(pipeline, engine=counts)
    assert [alert.state for alert in Alert.objects.all()] == ["open"]


def test_a_run_and_a_preview_go_on_side_by_side(pipeline):
    preview, run = queue_preview(pipeline, Trigger.CLI, send=False), queue_run(pipeline, Trigger.CLI, send=False)
    assert claim_run(preview.pk, "one")
    claim = claim_run(run.pk, "two")
    assert claim
    execute_claimed(claim, lambda job, ports: RunReport())
    another = queue_run(pipeline, Trigger.CLI, if_busy="refuse", send=False)
    assert claim_run(another.pk, "three")


def test_a_preview_whose_process_is_gone_is_never_taken_up_as_a_run(pipeline):
    left = queue_preview(pipeline, Trigger.CLI, send=False)
    Run.objects.filter(pk=left.pk).update(attempt=1)
    assert adopt_inline(pipeline) == []


def test_values_are_stored_sealed_and_go_within_the_hour(previewed):
    assert "Bobby" not in EffectSample.objects.get().encrypted
    assert SAMPLES.delete() == 0
    EffectSample.objects.update(at=timezone.now() - timezone.timedelta(hours=2))
    assert SAMPLES.delete() == 1
    (effect,) = run_document(previewed, sees_values=True)["effects"]
    assert (effect["samples"], effect["rowsInserted"]) == (None, 2)


def test_previews_go_after_a_week(previewed):
    Run.objects.update(ended_at=timezone.now() - timezone.timedelta(days=8))
    delete_old_rows()
    assert not Run.objects.exists()


def test_the_page_shows_numbers_columns_and_rows(as_, previewed):
    answer = as_("editor").get(f"/w/alices-team/runs/{previewed.pk}/")
    text = words(answer)
    assert "5 rows now + 2 inserted − 0 deleted = 7 rows after" in text
    assert "&lt;b&gt;Bobby" in answer.content.decode()
    assert "NULL" in text


def test_who_sees_no_values_sees_the_numbers_alone(as_, previewed):
    answer = as_("viewer").get(f"/w/alices-team/runs/{previewed.pk}/")
    assert "Bobby" not in answer.content.decode()
    assert "does not show values" in words(answer)
    reported = as_("viewer").get(f"/api/runs/{previewed.pk}/", headers=HERE).json()
    assert (reported["effects"][0]["samples"], reported["effects"][0]["rowsUpdated"]) == (None, 1)


def test_the_menu_of_the_editor_requests_it(as_, pipeline):
    client = as_("editor")
    answer = client.post("/w/alices-team/pipelines/numbers/run/", {"kind": "preview"}, headers={"HX-Request": "true"})
    run = Run.objects.get()
    assert run.kind == "preview"
    assert answer.headers["HX-Redirect"] == f"/w/alices-team/runs/{run.pk}/"


def test_a_viewer_asks_for_none(as_, pipeline):
    assert as_("viewer").post("/w/alices-team/runs/preview/numbers/").status_code == 403
    assert not Run.objects.exists()


def test_the_api_requests_it(as_, pipeline):
    ask = {"content_type": "application/json", "headers": HERE}
    client, path = as_("editor"), "/api/pipelines/numbers/runs/"
    assert client.post(path, {"kind": "preview"}, **ask).status_code == 202
    assert Run.objects.get().kind == "preview"
    assert client.post(path, {"kind": "preview", "loadAgain": "why"}, **ask).status_code == 400
    assert client.post(path, {"kind": "restore"}, **ask).status_code == 400
