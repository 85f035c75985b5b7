"""A stream: one run that repeats windows, each of which is a load with its own commit.

A window loads what the source has beyond the state in the target's commit marker, so that a window that has committed
is never repeated, whatever happens to its worker.
"""

from __future__ import annotations

import json
import time
from contextlib import closing
from dataclasses import replace

from executors.errors import Transient
from executors.load_record import LoadCommit
from executors.model import RunJob
from executors.ports import Cancellation, Events, Ports, StreamControl
from executors.report import RunReport
from executors.runs.load import run_pipeline
from executors.sources.watching import SourceWatch

IDLE_SECONDS = 1.0
"""The pause after a window that has read everything."""
LONGEST_BACKOFF = 60.0
_LOOK_SECONDS = 0.1
_LOST = ("spark.lost",)
"""Failures after which this process can run no other window."""


def run_stream(job: RunJob, ports: Ports) -> RunReport:
    """Run windows until the stream must end, and return an empty report: each window is reported when it commits.

    Transient failures are repeated after a pause. Raises the `Failure` that ended the stream.
    """
    if ports.stream is None:
        raise TypeError("a stream needs its control")
    with closing(SourceWatch(job, ports.cancellation.check)) as watch:
        _repeat_windows(job, ports, ports.stream, watch)
    return RunReport()


def _repeat_windows(job: RunJob, ports: Ports, control: StreamControl, watch: SourceWatch) -> None:
    failures = 0
    while control.begin_window():
        try:
            pause = _run_window(job, ports, control, watch)
        except Transient as failure:
            watch.close()
            ports.cancellation.check()
            if failure.code in _LOST:
                raise
            pause = min(2.0**failures, LONGEST_BACKOFF)
            failures += 1
            control.fail_window(failure, pause)
        else:
            failures = 0
            # The rows that a person has approved are those of the first window.
            job = replace(job, approved={})
        _wait(pause, ports.cancellation)


def _run_window(job: RunJob, ports: Ports, control: StreamControl, watch: SourceWatch) -> float:
    """Run one window, unless the source has no changes. Return the seconds to wait before the next one."""
    began, seen = time.time(), _Seen(ports.events)
    if not watch.has_changes():
        control.end_window(began, has_more=False)
        return IDLE_SECONDS
    watch.leave()
    report = run_pipeline(replace(job, is_window=True), replace(ports, events=seen))
    has_more = not report.nothing_new and seen.last is not None and _has_more(seen.last)
    control.end_window(began, has_more=has_more)
    if report.nothing_new:
        watch.open()
    return 0 if has_more else IDLE_SECONDS


def _has_more(commit: LoadCommit) -> bool:
    states = [one.state for one in commit.record.sources if one.state is not None]
    return any(json.loads(state.value).get("more", False) for state in states)


def _wait(seconds: float, cancellation: Cancellation) -> None:
    """Wait, at most until the run must end. Raises `Cancelled` or `LeaseLost`."""
    end = time.monotonic() + seconds
    cancellation.check()
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, _LOOK_SECONDS))
        cancellation.check()


class _Seen:
    """The events of a window, with its last commit."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self.last: LoadCommit | None = None
        self.step, self.step_rows, self.step_note = events.step, events.step_rows, events.step_note
        self.node_finished = events.node_finished
        self.log, self.alert = events.log, events.alert

    def committed(self, commit: LoadCommit) -> None:
        self.last = commit
        self._events.committed(commit)
