"""What a stream reports and asks between its windows."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Literal

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Coalesce

from executors.api import Ports, may_commit
from executors.api import run as run_attempt
from executors.errors import Failure
from executors.model import RunJob
from executors.report import NodeReport, RunReport
from flowapp.alerts.services import resolve_by
from flowapp.clock import Now
from flowapp.logs import redact
from flowapp.runs.leases import LeaseRenewer
from flowapp.runs.models import CLAIMABLE, Run
from flowapp.runs.ports import DatabaseEvents
from flowapp.streams.counting import report_of
from flowapp.streams.models import Stream, StreamState

STEP_SECONDS = 2.0
"""How often the current step is stored: windows go through their steps many times a minute."""
LINES_PER_HOUR = 60
LOOK_SECONDS = 5.0
"""How often a stream without changes stores that it is current."""


def follow(job: RunJob, ports: Ports) -> RunReport:
    """Execute an attempt of a stream. Its report has the counts of all windows, also those of earlier attempts."""
    run = Run.objects.select_related("pipeline").get(pk=job.run_id)
    try:
        run_attempt("stream", job, ports)
    except Failure as failure:
        failure.report = report_of(run)
        raise
    return report_of(run)


def add_to_ports(run: Run, ports: Ports) -> Ports:
    """Return the ports of a stream: its events are stored sparingly, and it has a control."""
    events, renewer = ports.events, ports.cancellation
    if not isinstance(events, DatabaseEvents) or not isinstance(renewer, LeaseRenewer):
        raise TypeError("a stream runs under a lease")
    return replace(ports, events=StreamEvents(events, run), stream=StreamControl(events, run, renewer))


class StreamEvents:
    """The engine's `Events`, of which a stream stores only what does not grow with the number of windows."""

    def __init__(self, events: DatabaseEvents, run: Run) -> None:
        self._events, self._run = events, run
        self.step_rows, self.step_note = events.step_rows, events.step_note
        self.committed, self.alert = events.committed, events.alert
        self._stored, self._commits, self._hour, self._lines = 0.0, False, 0, 0

    def step(self, name: str, node: str | None = None) -> None:
        """Store the step now and then, and always before the first possible commit of the attempt."""
        changes: dict[str, Any] = {}
        if may_commit(name) and not self._commits:
            changes["may_have_committed"] = self._commits = True
        if time.monotonic() - self._stored > STEP_SECONDS:
            self._stored = time.monotonic()
            changes["step"] = name[:40]
        if changes and not self._events.claim.held().update(**changes):
            raise self._events.claim.lost()

    def node_finished(self, report: NodeReport) -> None:
        """The counts of nodes are added up when the window commits."""

    def log(self, level: Literal["info", "warning", "error"], message: str, node: str | None = None) -> None:
        """Store warnings and errors, a limited number per hour. The last one says that more are left out."""
        if level == "info":
            return
        hour = int(time.time() // 3600)
        self._lines = self._lines + 1 if hour == self._hour else 1
        self._hour = hour
        if self._lines < LINES_PER_HOUR:
            self._events.log(level, message, node)
        elif self._lines == LINES_PER_HOUR:
            self._events.log(level, f"{message} Further lines of this hour are left out.", node)


class StreamControl:
    """The engine's `StreamControl`."""

    def __init__(self, events: DatabaseEvents, run: Run, renewer: LeaseRenewer) -> None:
        self._events, self._run, self._renewer = events, run, renewer
        self._stream = Stream.objects.filter(pipeline=run.pipeline)
        self._is_good, self._looked = False, 0.0

    def begin_window(self) -> bool:
        self._renewer.restart_limit()
        wanted = self._stream.filter(
            state=StreamState.RUNNING,
            pipeline__enabled=True,
            pipeline__archived_at=None,
            pipeline__latest_number=self._run.version_number or 0,
        )
        return wanted.exists() and not self._others_wait()

    def _others_wait(self) -> bool:
        """Return whether another run of the pipeline waits, such as a replay or a new snapshot. The stream ends for it,
        and is started again after it."""
        others = Run.counted.filter(pipeline=self._run.pipeline, state__in=CLAIMABLE, due_at__lte=Now())
        return others.exclude(pk=self._run.pk).exists()

    def end_window(self, began: float, *, has_more: bool) -> None:
        if self._is_good and not has_more and time.monotonic() - self._looked < LOOK_SECONDS:
            return
        self._looked = time.monotonic()
        changes: dict[str, Any] = {"looked_at": Now()}
        if not has_more:
            changes["current_to"] = datetime.fromtimestamp(began, UTC)
        with transaction.atomic():
            self._events.claim.guard()
            self._stream.update(**changes)
            if not self._is_good:
                self._note_good()
        self._is_good = True

    def _note_good(self) -> None:
        """Forget earlier failures: a stream runs for months, and only failures in a row count."""
        self._stream.update(failing_since=None, failing_code="", failing_message="")
        self._events.claim.held().update(
            failures=0, losses=0, failed_attempts=[], error_code="", error_node="", error_message="", error_hint=""
        )
        resolve_by("stream.started", pipeline_id=self._run.pipeline_id)
        resolve_by("run.succeeded", pipeline_id=self._run.pipeline_id, by=self._run)

    def fail_window(self, failure: Failure, seconds: float) -> None:
        if self._is_good or seconds <= 1:
            text = f"{failure.code}: {failure.message} The window is tried again until it succeeds."
            self._events.log("warning", text, failure.node)
        self._is_good = False
        with transaction.atomic():
            self._events.claim.guard()
            self._stream.update(
                looked_at=Now(),
                failing_since=Coalesce(F("failing_since"), Now()),
                failing_code=failure.code,
                failing_message=redact(failure.message),
            )
