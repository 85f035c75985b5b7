"""Keep an error that concerns one pipeline from ending a periodic task for all others."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from flowapp.alerts.models import Alert, AlertState
from flowapp.alerts.services import raise_alert, resolve_by
from flowapp.clock import from_now
from flowapp.logs import log_crash
from flowapp.pipelines.models import Pipeline
from ir.errors import FlowError

logger = logging.getLogger(__name__)
FAILED = "pipeline.task_failed"
RETRY_SECONDS = 60.0
"""How long a task leaves a pipeline alone after an error: tasks run every second."""


class Isolation:
    """The errors of one call of a task. Each is logged and raises an alert on its pipeline, which the next success of
    the task for this pipeline resolves. If the control database itself fails, the alert cannot be stored, and the task
    ends."""

    def __init__(self, task: str) -> None:
        self._task = task
        alerts = Alert.objects.filter(kind=FAILED, node=task).exclude(state=AlertState.RESOLVED)
        self._failing = set(alerts.values_list("pipeline_id", flat=True))
        recent = alerts.filter(last_seen_at__gt=from_now(-RETRY_SECONDS)) if self._failing else Alert.objects.none()
        self._left_alone = set(recent.values_list("pipeline_id", flat=True))

    def leaves_alone(self, pipeline_id: UUID) -> bool:
        """Return whether the task has failed for the pipeline within the last minute."""
        return pipeline_id in self._left_alone

    @contextmanager
    def of(self, pipeline: Pipeline, but: type[Exception] | tuple[()] = ()) -> Iterator[None]:
        """Do the pipeline's part of the task. A transaction belongs inside this block. `but` is an exception that the
        caller handles."""
        try:
            yield
        except but:
            raise
        except Exception as error:  # noqa: BLE001 - it is logged and raises an alert
            self._report(pipeline, error)
        else:
            if pipeline.pk in self._failing:
                resolve_by("task.succeeded", pipeline_id=pipeline.pk, node=self._task)
                self._failing.discard(pipeline.pk)

    def _report(self, pipeline: Pipeline, error: Exception) -> None:
        """Messages of unexpected errors stay out: drivers quote values of rows."""
        log_crash(logger, f"{FAILED}: the task {self._task!r} failed for the pipeline {pipeline}", error)
        what = f"{error.code}: {error.message}" if isinstance(error, FlowError) else f"{type(error).__name__}."
        raise_alert(
            FAILED,
            "error",
            f"The task “{self._task}” failed for {pipeline}: {what} It is tried again every minute.",
            "See the logs of the scheduler and the workers at this time.",
            pipeline=pipeline,
            node=self._task,
        )
        self._left_alone.add(pipeline.pk)
