"""Requests of runs: which messages are sent, and when."""

from __future__ import annotations

import pytest
from django.db import transaction

from flowapp.celery import app
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.services import set_enabled
from flowapp.runs.leases import claim_run
from flowapp.runs.models import Run, State, Trigger
from flowapp.runs.services import queue_run
from ir.errors import FlowError


@pytest.mark.django_db(transaction=True)
def test_nothing_is_sent_before_the_callers_transaction_has_committed(pipeline, sent):
    with transaction.atomic():
        run = queue_run(pipeline, Trigger.MANUAL)
        assert sent == []
    assert sent == [str(run.pk)]


@pytest.mark.django_db(transaction=True)
def test_nothing_is_sent_and_nothing_stays_when_the_request_rolls_back(pipeline, sent):
    with transaction.atomic():
        queue_run(pipeline, Trigger.MANUAL)
        transaction.set_rollback(True)
    assert sent == []
    assert not Run.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_broker_that_does_not_answer_loses_no_run(pipeline, monkeypatch, settings, caplog):
    from kombu.exceptions import OperationalError

    def refuse(*args):
        raise OperationalError("refused")

    settings.REDIS_URL = "redis://127.0.0.1:1"
    monkeypatch.setattr(app, "send_task", refuse)
    run = queue_run(pipeline, Trigger.MANUAL)
    assert run.state == State.QUEUED
    assert "was not sent" in caplog.text


@pytest.mark.django_db
def test_the_documents_number_of_attempts_counts_for_every_trigger(save):
    pipeline = save(errorHandling={"retry": {"maxAttempts": 5}}).pipeline
    assert queue_run(pipeline, Trigger.MANUAL, send=False).max_attempts == 5


@pytest.mark.django_db
def test_a_run_names_the_version_that_it_runs(save):
    save()
    pipeline = save(metadata={"name": "Numbers"}).pipeline
    assert queue_run(pipeline, Trigger.MANUAL, send=False).version.number == 2


@pytest.mark.django_db
def test_a_pipeline_that_is_off_is_not_run(pipeline):
    set_enabled(pipeline, False)
    with pytest.raises(FlowError) as refused:
        queue_run(pipeline, Trigger.MANUAL)
    assert refused.value.code == "pipeline.disabled"


@pytest.mark.django_db
def test_a_pipeline_without_versions_is_not_run(workspace):
    with pytest.raises(FlowError) as refused:
        queue_run(Pipeline.objects.create(workspace=workspace, slug="empty"), Trigger.MANUAL)
    assert refused.value.code == "pipeline.no_version"


@pytest.mark.django_db(transaction=True)
def test_the_next_run_is_sent_when_the_one_before_ends(pipeline, sent, target):
    from flowapp.runs.dispatch import execute_claimed
    from tests.flowapp.runs.table_engine import TableEngine

    first, second = (queue_run(pipeline, Trigger.MANUAL) for _ in range(2))
    sent.clear()
    execute_claimed(claim_run(first.pk, "worker"), TableEngine())
    assert sent == [str(second.pk)]
