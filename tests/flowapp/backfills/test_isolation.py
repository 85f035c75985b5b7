"""An error that concerns one pipeline raises an alert on it, and periodic tasks go on with the others."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import pytest

from flowapp.alerts.models import Alert
from flowapp.backfills import advancing, dispatch, run_events
from flowapp.backfills.advancing import advance_all
from flowapp.backfills.models import Chunk, ChunkStatus
from flowapp.backfills.selectors import newest_backfill
from flowapp.clock import from_now
from flowapp.pipelines.models import Pipeline
from flowapp.runs.models import Run, RunKind, Trigger
from flowapp.runs.schedules import fire_due
from flowapp.runs.services import queue_run
from tests.flowapp.backfills.engine import execute

pytestmark = pytest.mark.django_db(transaction=True)
NOON = datetime(2025, 6, 1, 12, 0, tzinfo=UTC)
SLUGS = ("a", "b", "c")
VALUE = "value of a row"


@pytest.fixture
def three(make, engine, settings) -> list[Pipeline]:
    """Three pipelines with pending chunks, none of which may start."""
    settings.MAX_PARALLEL_CHUNKS = 0
    pipelines = [make(slug, schedule={"kind": "every", "interval": "1h"}) for slug in SLUGS]
    for pipeline in pipelines:
        execute(queue_run(pipeline, Trigger.MANUAL), engine)
    settings.MAX_PARALLEL_CHUNKS = 8
    return pipelines


@pytest.fixture
def broken(monkeypatch):
    """Makes a function fail for the pipeline b, whose id its first argument has in some way."""

    def call(module, name, slug_of):
        real = getattr(module, name)

        def function(first, *args, **kwargs):
            if slug_of(first) == "b":
                raise RuntimeError(VALUE)
            return real(first, *args, **kwargs)

        monkeypatch.setattr(module, name, function)

    return call


def running() -> Counter[str]:
    return Counter(Chunk.objects.filter(status=ChunkStatus.RUNNING).values_list("pipeline__slug", flat=True))


def alerts() -> list[tuple[str, str, str]]:
    return list(Alert.objects.values_list("kind", "pipeline__slug", "state"))


def test_chunks_of_other_pipelines_start_if_those_of_one_cannot(three, broken, caplog):
    broken(dispatch, "queue_child", lambda run: run.pipeline.slug)
    advance_all(NOON)
    assert running() == {"a": 2, "c": 2}
    assert alerts() == [("pipeline.task_failed", "b", "open")]
    assert "pipeline.task_failed: the task 'start chunks' failed for the pipeline b" in caplog.text
    assert VALUE not in caplog.text + Alert.objects.get().message


def test_a_pipeline_that_failed_is_left_alone_for_a_minute_and_then_tried_again(three, broken, monkeypatch):
    with monkeypatch.context():
        broken(dispatch, "queue_child", lambda run: run.pipeline.slug)
        advance_all(NOON)
        monkeypatch.undo()
    advance_all(NOON)
    assert running() == {"a": 2, "c": 2}
    Alert.objects.update(last_seen_at=from_now(-61))
    advance_all(NOON)
    assert running() == dict.fromkeys(SLUGS, 2)
    assert alerts() == [("pipeline.task_failed", "b", "resolved")]


def test_backfills_of_other_pipelines_end_if_that_of_one_cannot(three, broken, settings):
    settings.MAX_PARALLEL_CHUNKS = 0
    Chunk.objects.update(status=ChunkStatus.DONE)
    broken(advancing, "queue_child", lambda run: run.pipeline.slug)
    advance_all(NOON)
    last = Run.objects.filter(kind=RunKind.FINISH_BACKFILL)
    assert set(last.values_list("pipeline__slug", flat=True)) == {"a", "c"}
    assert alerts() == [("pipeline.task_failed", "b", "open")]


def test_an_error_that_the_pipeline_has_a_code_for_is_not_taken_for_a_disabled_pipeline(three, monkeypatch):
    from ir.errors import FlowError

    def fail(*args, **kwargs):
        raise FlowError("pipeline.no_version", "It has no saved version.", hint="Save one.")

    monkeypatch.setattr(dispatch, "queue_child", fail)
    advance_all(NOON)
    assert Alert.objects.count() == 3
    assert "pipeline.no_version: It has no saved version." in Alert.objects.first().message


def test_schedules_of_other_pipelines_fire_if_the_backfill_of_one_cannot_go_on(three, broken):
    Pipeline.objects.update(next_fire_at=NOON)
    broken(run_events, "_tick", lambda backfill: backfill.pipeline.slug)
    assert fire_due(NOON) == 3
    assert not Pipeline.objects.filter(next_fire_at=NOON).exists()
    assert alerts() == [("pipeline.task_failed", "b", "open")]
    assert newest_backfill(three[1]).phase == "backfilling"
