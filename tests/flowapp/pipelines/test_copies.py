"""Copies of pipelines, tags, and the archive."""

from __future__ import annotations

import json

import pytest

from flowapp.clock import from_now
from flowapp.pipelines.copies import add_tag, duplicate_pipeline
from flowapp.pipelines.services import set_archived, set_enabled
from flowapp.runs.models import Run, State, Trigger
from flowapp.runs.schedules import fire_due
from flowapp.runs.services import queue_run
from ir.errors import FlowError
from tests.flowapp.cli.conftest import flow
from tests.flowapp.web.conftest import as_, person

__all__ = ["as_", "flow", "person"]
pytestmark = pytest.mark.django_db
SCHEDULE = {"kind": "every", "interval": "1h"}
HERE = {"X-Flow-Workspace": "alices-team"}


def document_of(pipeline):
    return json.loads(pipeline.versions.get(number=pipeline.latest_number).document)


def test_a_copy_has_an_id_of_its_own_and_does_not_run_by_itself(save):
    original = save(metadata={"name": "Numbers"}, schedule=SCHEDULE).pipeline
    copy = duplicate_pipeline(original)

    assert (copy.slug, copy.name, copy.paused, copy.next_fire_at) == ("numbers-copy", "Numbers (copy)", True, None)
    assert document_of(copy)["nodes"] == document_of(original)["nodes"]
    assert duplicate_pipeline(original).slug == "numbers-copy-2"


def test_a_long_id_is_cut_for_its_copy(save):
    assert duplicate_pipeline(save("n" * 63).pipeline).slug == "n" * 58 + "-copy"


def test_a_tag_is_a_version_and_the_same_tag_is_none(pipeline):
    assert add_tag(pipeline, " daily  load ").number == 2
    pipeline.refresh_from_db()
    assert pipeline.tags == "\ndaily load\n"
    assert add_tag(pipeline, "daily load").number == 2
    with pytest.raises(FlowError, match=r"tag\.invalid"):
        add_tag(pipeline, " ")


def test_an_archived_pipeline_is_not_scheduled_and_does_not_run(save):
    pipeline = save(schedule=SCHEDULE).pipeline
    set_archived(pipeline, True)

    assert pipeline.next_fire_at is None
    with pytest.raises(FlowError, match=r"pipeline\.archived"):
        queue_run(pipeline, Trigger.MANUAL, send=False)
    set_enabled(pipeline, True)
    assert pipeline.next_fire_at is None
    set_archived(pipeline, False)
    assert pipeline.next_fire_at is not None
    assert queue_run(pipeline, Trigger.MANUAL, send=False).state == State.QUEUED


def test_a_pipeline_with_unfinished_runs_is_not_archived(pipeline):
    queue_run(pipeline, Trigger.MANUAL, send=False)
    with pytest.raises(FlowError, match=r"pipeline\.busy"):
        set_archived(pipeline, True)


def test_a_schedule_that_is_due_while_the_pipeline_is_archived_does_not_fire(save):
    pipeline = save(schedule=SCHEDULE).pipeline
    type(pipeline).objects.update(archived_at=from_now(0), next_fire_at=from_now(-60))

    from django.utils import timezone

    assert fire_due(timezone.now()) == 0
    assert not Run.objects.exists()


def test_the_api_switches_archives_and_copies(as_, pipeline):
    client, at = as_("editor"), "/api/pipelines/numbers/"

    def patch(**body):
        return client.patch(at, body, content_type="application/json", headers=HERE)

    assert patch(enabled=False, paused=True).json()["enabled"] is False
    assert patch(archived=True).json()["archivedAt"] is not None
    assert client.get("/api/pipelines/", headers=HERE).json()["results"] == []
    assert client.get("/api/pipelines/?archived=true", headers=HERE).json()["results"][0]["id"] == "numbers"
    assert client.post(f"{at}duplicate/", headers=HERE).json()["id"] == "numbers-copy"
    assert as_("viewer").patch(at, {}, content_type="application/json", headers=HERE).status_code == 403


def test_commands_archive_and_copy(flow, pipeline, settings):
    settings.FLOW_WORKSPACE = "alices-team"
    assert "Pipeline numbers is archived." in flow("pipeline", "archive", "numbers").stdout
    assert "numbers" not in flow("pipeline", "list").stdout
    assert "numbers" in flow("pipeline", "list", "--archived").stdout
    assert "pipeline.archived" in flow("run", "numbers", "--detach").stderr
    assert "Pipeline numbers is restored." in flow("pipeline", "unarchive", "numbers").stdout
    assert "Pipeline numbers-copy is a copy of numbers." in flow("pipeline", "duplicate", "numbers").stdout
