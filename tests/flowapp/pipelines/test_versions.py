"""Saving: immutable versions, conflicts, schedules."""

from __future__ import annotations

import json
import threading
import time

import pytest

from flowapp.pipelines import deletion, services
from flowapp.pipelines.models import Pipeline, PipelineVersion
from flowapp.pipelines.selectors import get_pipeline, get_version, list_versions
from flowapp.pipelines.serializers import PipelineSerializer, VersionSerializer
from flowapp.pipelines.services import VersionConflict, restore_version, save_version, set_archived, set_paused
from flowapp.registrations import load_registrations
from flowapp.runs.models import Run, Trigger
from flowapp.runs.services import queue_run
from ir.canonical import document_hash
from ir.diagnostics import InvalidPipeline
from ir.errors import FlowError
from tests.flowapp.together import at_once

pytestmark = pytest.mark.django_db
HOURLY = {"kind": "every", "interval": "1h"}


def test_every_save_makes_a_version_with_the_exact_text(connected, document):
    text = json.dumps(document(), indent=7)
    version = save_version(connected, text, message="First.")
    assert (version.number, version.document, version.message) == (1, text, "First.")
    assert version.pipeline.latest_number == 1


def test_its_hash_is_that_of_the_canonical_form_and_not_of_the_spacing(connected, document):
    first = save_version(connected, json.dumps(document()))
    again = save_version(connected, json.dumps(document(), indent=7))
    assert (again.number, again.sha256) == (2, first.sha256)
    assert first.sha256 == document_hash(document())


def test_the_same_text_again_makes_no_version(save):
    assert save().pk == save().pk
    assert PipelineVersion.objects.count() == 1


def test_an_edit_of_an_older_version_is_refused(connected, document):
    save_version(connected, json.dumps(document()), expected_version=0)
    save_version(connected, json.dumps(document(metadata={"name": "A"})), expected_version=1)
    with pytest.raises(VersionConflict) as refused:
        save_version(connected, json.dumps(document(metadata={"name": "B"})), expected_version=1)
    assert (refused.value.code, refused.value.expected, refused.value.current) == ("version.conflict", 1, 2)
    assert get_version(get_pipeline(connected, "numbers")).number == 2


@pytest.mark.django_db(transaction=True)
def test_saves_at_once_lose_nothing(connected, document):
    texts = [json.dumps(document(metadata={"name": str(i)})) for i in range(4)]
    at_once(*[lambda text=text: save_version(connected, text) for text in texts])
    assert sorted(PipelineVersion.objects.values_list("number", flat=True)) == [1, 2, 3, 4]


def test_a_schedule_that_is_resumed_during_a_save_stays_active(save, monkeypatch):
    set_paused(save(schedule=HOURLY).pipeline, True)
    newest = services._newest

    def resumed_just_now(pipeline):
        monkeypatch.setattr(services, "_newest", newest)
        set_paused(Pipeline.objects.get(pk=pipeline.pk), False)
        return newest(pipeline)

    monkeypatch.setattr(services, "_newest", resumed_just_now)
    assert save(schedule={**HOURLY, "interval": "2h"}).pipeline.next_fire_at is not None


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("end", ["archive", "delete"])
def test_no_run_is_queued_while_its_pipeline_is_archived_or_deleted(pipeline, end, monkeypatch):
    load_registrations()
    hook = services.before_archiving if end == "archive" else deletion.before_deletion
    refused = []
    ask = threading.Thread(target=lambda: refused.extend(at_once(lambda: queue_run(pipeline, Trigger.API, send=False))))

    def asked_just_now(given):
        ask.start()
        time.sleep(0.3)

    monkeypatch.setattr(hook, "_functions", [*hook._functions, asked_just_now])
    if end == "archive":
        set_archived(pipeline, True)
    else:
        deletion.delete_pipeline(pipeline)
    ask.join()
    assert isinstance(refused[0], FlowError)
    assert not Run.objects.exists()


def test_a_document_with_faults_is_not_saved(connected, document):
    with pytest.raises(InvalidPipeline):
        save_version(connected, json.dumps(document(schedule={"kind": "every", "interval": "often"})))
    assert not Pipeline.objects.exists()


def test_a_connection_that_the_workspace_lacks_is_refused(workspace, document):
    with pytest.raises(FlowError) as refused:
        save_version(workspace, json.dumps(document()))
    assert refused.value.code == "connection.unknown"
    assert not Pipeline.objects.exists()


def test_restoring_makes_a_new_version_of_the_old_text(save):
    first = save()
    save(metadata={"name": "Changed"})
    restored = restore_version(first.pipeline, 1)
    assert (restored.number, restored.document) == (3, first.document)
    assert Pipeline.objects.get().name == ""


def test_a_schedule_that_stays_the_same_keeps_its_time(save):
    save(schedule=HOURLY)
    before = Pipeline.objects.get().next_fire_at
    Pipeline.objects.update(next_fire_at=before.replace(year=2020))
    save(schedule=HOURLY, metadata={"name": "Changed"})
    assert Pipeline.objects.get().next_fire_at.year == 2020


def test_a_new_schedule_gets_a_new_time_and_none_gets_none(save):
    save(schedule=HOURLY)
    before = Pipeline.objects.get().next_fire_at
    save(schedule={"kind": "cron", "expression": "0 0 1 1 *"})
    assert Pipeline.objects.get().next_fire_at > before
    save()
    assert Pipeline.objects.get().next_fire_at is None


def test_a_paused_pipeline_that_is_saved_stays_without_a_time(save):
    set_paused(save(schedule=HOURLY).pipeline, True)
    save(schedule={"kind": "every", "interval": "2h"})
    assert Pipeline.objects.get().next_fire_at is None


def test_what_is_not_there_is_reported_by_name(workspace, pipeline):
    with pytest.raises(FlowError, match="'nothing'"):
        get_pipeline(workspace, "nothing")
    with pytest.raises(FlowError, match="version 9"):
        get_version(pipeline, 9)


def test_history_is_newest_first_without_documents(save, django_assert_num_queries):
    save()
    pipeline = save(metadata={"name": "Changed"}).pipeline
    with django_assert_num_queries(1):
        assert [VersionSerializer(version).data["version"] for version in list_versions(pipeline)] == [2, 1]
    assert PipelineSerializer(Pipeline.objects.get()).data["version"] == 2
