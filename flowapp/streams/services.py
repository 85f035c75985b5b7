"""Start, pause and resume streams, and load their tables again."""

from __future__ import annotations

import logging
from collections.abc import Collection
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from flowapp.accounts.models import User
from flowapp.alerts.isolation import Isolation
from flowapp.clock import Now
from flowapp.pipelines.models import Pipeline
from flowapp.runs.models import ACTIVE, CLAIMABLE, Run, RunKind, State, Trigger
from flowapp.runs.services import cancel_run, queue_run
from flowapp.streams.models import Stream, StreamAction, StreamChange, StreamState
from ir.errors import FlowError
from ir.load_modes import LOAD_MODES

logger = logging.getLogger(__name__)
FOLLOWING = tuple(mode.name for mode in LOAD_MODES.values() if mode.follows_stream)
"""The load modes whose pipelines are run as streams."""
AT_ONCE = 100
LATER = ("run.busy", "pipeline.disabled", "pipeline.archived")
"""The codes of errors that end by themselves: another scheduler was faster, or a person has just disabled it."""


def follows(pipeline: Pipeline) -> bool:
    """Return whether the newest version of the pipeline follows a stream."""
    return settings.FLOW_STREAMING_ENABLED and pipeline.load_mode in FOLLOWING


def stream_instead(pipeline: Pipeline, trigger: Trigger, is_again: bool) -> RunKind | None:
    """Return that a stream takes the place of a load, except on the command line, which applies the changes up to now.

    Raises FlowError `stream.running`."""
    if trigger == Trigger.CLI or not follows(pipeline):
        return None
    if not is_again and _active(pipeline).filter(kind=RunKind.STREAM).exists():
        raise FlowError(
            "stream.running",
            f"The stream of {pipeline.slug!r} is running already, and loads changes as they arrive.",
            hint="Pause it on the page Streams, or request a new snapshot there.",
        )
    return RunKind.STREAM


def note_queued(run: Run) -> None:
    """Let the stream of a queued run run. A load of the command line creates a slot too, which is watched like that of
    a stream: so its pipeline gets a stream that is not started."""
    if run.kind == RunKind.STREAM:
        stream = _get_or_create(run.pipeline)
        _set(stream, StreamState.RUNNING, StreamAction.STARTED, str(Trigger(run.trigger).label), "")
    elif run.kind == RunKind.LOAD and follows(run.pipeline):
        _get_or_create(run.pipeline)


def start_due(pipelines: Collection[UUID]) -> Collection[UUID]:
    """Start streams whose schedule is due, unless they are paused. Return all pipelines that follow streams: none of
    them needs a run."""
    if not settings.FLOW_STREAMING_ENABLED:
        return []
    found = Pipeline.objects.filter(pk__in=pipelines, load_mode__in=FOLLOWING)
    isolation = Isolation("start streams by schedule")
    for pipeline in found:
        with isolation.of(pipeline), transaction.atomic():
            stream = _get_or_create(pipeline)
            if stream.state != StreamState.PAUSED:
                _set(stream, StreamState.RUNNING, StreamAction.STARTED, "schedule", "")
    return [pipeline.pk for pipeline in found]


def start_streams() -> int:
    """Queue a run of each stream that should run and has none; return their number. A constraint allows one running
    run of a pipeline, so that several schedulers do no harm."""
    if not settings.FLOW_STREAMING_ENABLED:
        return 0
    busy = Run.counted.filter(pipeline=OuterRef("pipeline"), state__in=ACTIVE)
    idle = Stream.objects.filter(
        ~Exists(busy),
        state=StreamState.RUNNING,
        pipeline__enabled=True,
        pipeline__archived_at=None,
        pipeline__load_mode__in=FOLLOWING,
    )
    started, isolation = 0, Isolation("start streams")
    for stream in idle.select_related("pipeline")[:AT_ONCE]:
        if not isolation.leaves_alone(stream.pipeline_id):
            with isolation.of(stream.pipeline):
                started += _start(stream)
    return started


def _start(stream: Stream) -> bool:
    try:
        queue_run(stream.pipeline, Trigger.SCHEDULE, if_busy="refuse", kind=RunKind.STREAM)
    except FlowError as error:
        if error.code not in LATER:
            raise
        logger.info("The stream of %s was not started: %s", stream.pipeline, error.code)
        return False
    return True


def pause_stream(stream: Stream, by: str, reason: str) -> None:
    """Pause a stream. A window that is being loaded ends first. The source retains its log until the stream continues.

    Raises FlowError `stream.not_running`."""
    if stream.state == StreamState.PAUSED:
        raise FlowError(
            "stream.not_running",
            f"The stream of {stream.pipeline.slug!r} is paused already.",
            hint="Resume it to load changes again.",
        )
    _set(stream, StreamState.PAUSED, StreamAction.PAUSED, by, reason)
    for run in _active(stream.pipeline).filter(kind=RunKind.STREAM, state__in=CLAIMABLE):
        cancel_run(run)


def resume_stream(stream: Stream, by: str, reason: str = "", user: User | None = None) -> Run | None:
    """Let a stream run that is paused, stopped or not started; return its run, or None if another run of the pipeline
    is before it.

    Raises FlowError `stream.running` and those of `queue_run`."""
    if stream.state == StreamState.RUNNING:
        raise FlowError(
            "stream.running",
            f"The stream of {stream.pipeline.slug!r} is running already.",
            hint="There is nothing to resume.",
        )
    action = StreamAction.STARTED if stream.state == StreamState.MANUAL else StreamAction.RESUMED
    with transaction.atomic():
        _set(stream, StreamState.RUNNING, action, by, reason)
        if _active(stream.pipeline).exists():
            return None
        return queue_run(stream.pipeline, Trigger.MANUAL, user=user, kind=RunKind.STREAM)


def resnapshot(stream: Stream, by: str, reason: str, trigger: Trigger, user: User | None = None) -> Run:
    """Request a run that replaces the target's rows by those of the source, in one transaction, and then follows its
    changes. A running stream ends for it. Raises FlowError `reason.required` and those of `queue_run`."""
    if not reason.strip():
        raise FlowError("reason.required", "A new snapshot needs a reason.", hint="Say why all rows are read again.")
    with transaction.atomic():
        _set(stream, StreamState.RUNNING, StreamAction.RESNAPSHOT, by, reason)
        return queue_run(stream.pipeline, trigger, load_again=reason, user=user, kind=RunKind.STREAM)


def note_end(run: Run, state: State) -> None:
    """Stop a stream whose run has failed, and pause one whose run was cancelled, so that it is not started again."""
    stream = Stream.objects.filter(pipeline_id=run.pipeline_id).first()
    if run.kind != RunKind.STREAM or stream is None or stream.state != StreamState.RUNNING:
        return
    run.refresh_from_db(fields=["error_code", "error_message"])
    if state in (State.FAILED, State.DISCARDED):
        reason = run.error_message or "The held load was discarded."
        _set(stream, StreamState.STOPPED, StreamAction.STOPPED, "", reason, run.error_code)
    elif state == State.CANCELLED:
        _set(stream, StreamState.PAUSED, StreamAction.PAUSED, "", f"Run {run.number} was cancelled.")


def _active(pipeline: Pipeline) -> QuerySet[Run]:
    return Run.counted.filter(pipeline=pipeline, state__in=ACTIVE)


def _get_or_create(pipeline: Pipeline) -> Stream:
    """Return the stream of a pipeline. A new one is manual until it is started."""
    values = {"workspace_id": pipeline.workspace_id, "state": StreamState.MANUAL, "changed_at": Now()}
    return Stream.objects.get_or_create(pipeline=pipeline, defaults=values)[0]


def _set(stream: Stream, state: StreamState, action: StreamAction, by: str, reason: str, code: str = "") -> None:
    """Change the state of a stream and record who did it. Starting a running stream changes nothing."""
    if action == StreamAction.STARTED and stream.state == StreamState.RUNNING:
        return
    with transaction.atomic():
        Stream.objects.filter(pk=stream.pk).update(
            state=state,
            reason="" if state == StreamState.RUNNING else reason,
            code=code,
            changed_by=by[:300],
            changed_at=Now(),
        )
        StreamChange.objects.create(
            workspace_id=stream.workspace_id, stream=stream, action=action, by=by[:300], reason=reason[:2000]
        )
    stream.refresh_from_db()
