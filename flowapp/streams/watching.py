"""Watch streams and their replication slots, and raise alerts that resolve when the problem is over."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone

from executors.api import LogNames, SlotFacts, drop_unread_slot, names_of, observe_slot
from executors.model import Connection
from flowapp.alerts.isolation import Isolation
from flowapp.alerts.services import raise_alert, resolve_by
from flowapp.clock import Now
from flowapp.connections.services import resolve_connections, resolve_stores
from flowapp.pipelines.documents import read_document
from flowapp.pipelines.models import Pipeline as PipelineModel
from flowapp.pipelines.models import PipelineVersion
from flowapp.processes.heartbeats import STREAM_WORKER, count_alive
from flowapp.runs.models import ACTIVE, Run, RunKind
from flowapp.streams.log_files import watch_file
from flowapp.streams.models import Stream, StreamAction, StreamChange, StreamState
from flowapp.streams.services import FOLLOWING
from ir.connectors import CONNECTORS
from ir.errors import FlowError
from ir.nodes import Source
from ir.pipeline import Pipeline
from ir.words import duration_text, size_text

logger = logging.getLogger(__name__)
LAGGING_SECONDS = 60.0
"""From this lag on, a running stream raises an alert."""
LEFT_SHARE = 0.25
"""A slot is at risk when less than this share of the log that the server retains for it is left."""
UNLIMITED_BYTES = 10 << 30
"""Without a limit of the server, a slot that retains this much endangers its disk."""
FRESH = timedelta(minutes=10)
"""An older observation of a slot does not count: its source may be gone."""
UNUSED_BYTES = 64 << 20
"""A slot that nothing will read raises an alert from this size on."""


def watch_streams() -> None:
    """Observe the slot of every stream, and compare every running stream with the clock. An error of one raises an
    alert, and the others go on."""
    isolation = Isolation("watch streams")
    for stream in Stream.objects.select_related("pipeline").order_by("pk"):
        if not isolation.leaves_alone(stream.pipeline_id):
            with isolation.of(stream.pipeline):
                _watch_lag(stream)
                _watch_slot(stream)


def slot_of(stream: Stream) -> str:
    """Return the name of the stream's slot. Before the first load has committed, it is that of the slot which this load
    creates: it exists and retains log even if the load fails. Raises FlowError `stream.source_unknown`."""
    if stream.counted:
        return str(json.loads(stream.counted)["slot"])
    return _names_of(stream).slot


def _names_of(stream: Stream) -> LogNames:
    document, source = _followed_source(stream)
    return names_of(str(stream.workspace_id), document.id, source)


def why_unused(stream: Stream) -> str:
    """Return why nothing will read the slot unless a person changes that: the pipeline is `archived` or `disabled`, or
    its document was `changed` and follows no stream; "" for a stream in use."""
    pipeline = stream.pipeline
    if pipeline.archived_at is not None:
        return "archived"
    if not pipeline.enabled:
        return "disabled"
    return "" if pipeline.load_mode in FOLLOWING else "changed"


def is_unused(stream: Stream) -> bool:
    """Return whether nothing will read the slot, unless a person changes that."""
    return bool(why_unused(stream))


def lag_of(stream: Stream) -> float | None:
    """Return by how many seconds the target is behind its source at most; None before the first load."""
    if stream.current_to is None:
        return None
    return max(0.0, (timezone.now() - stream.current_to).total_seconds())


# --- lag --------------------------------------------------------------------------------------------------------


def _watch_lag(stream: Stream) -> None:
    if stream.state != StreamState.RUNNING or is_unused(stream) or not _is_late(stream):
        resolve_by("stream.caught_up", pipeline_id=stream.pipeline_id)
        return
    lag = lag_of(stream)
    behind = "has not loaded anything yet" if lag is None else f"is {duration_text(lag)} behind its source"
    why, next_step = _why(stream)
    raise_alert(
        "stream.lagging",
        "error" if stream.failing_since else "warning",
        f"The stream of {stream.pipeline} {behind}. {why}",
        next_step,
        pipeline=stream.pipeline,
    )


def _is_late(stream: Stream) -> bool:
    lag = lag_of(stream)
    if lag is not None:
        return lag > LAGGING_SECONDS
    # The first load takes as long as the table needs; only a stream that does not begin is late.
    is_waiting = stream.failing_since is not None or not count_alive(STREAM_WORKER)
    return is_waiting and stream.changed_at < timezone.now() - timedelta(seconds=LAGGING_SECONDS)


def _why(stream: Stream) -> tuple[str, str]:
    if stream.failing_code:
        text = f"Windows fail: {stream.failing_code}: {stream.failing_message}"
        return text, "Correct the cause. The stream tries again by itself."
    if not count_alive(STREAM_WORKER):
        return "No worker for streams is running.", "Start one: `flow up` does if FLOW_STREAMING_ENABLED is on."
    return "", "The source may change faster than rows are loaded, or all workers for streams are busy: add one."


# --- slots ------------------------------------------------------------------------------------------------------


def _watch_slot(stream: Stream) -> None:
    try:
        document, source = _followed_source(stream)
        if not CONNECTORS[source.connector].has_slot:
            connection = resolve_stores(stream.workspace, document)[source.connection or ""]
            watch_file(stream, connection, is_unused=is_unused(stream))
            return
        name = slot_of(stream)
        facts = observe_slot(source_connection(stream), name)
    except FlowError as error:
        logger.info("The slot of %s was not observed: %s", stream.pipeline, error.code)
        return
    if facts is None and not stream.counted:
        return  # the first load has not created it yet
    observed: dict[str, Any] = {"name": name, **(asdict(facts) if facts else {"status": "missing"})}
    Stream.objects.filter(pk=stream.pk).update(slot=observed, slot_seen_at=Now())
    if facts is not None and facts.is_lost:
        _report_lost(stream, name)
    elif facts is not None:
        resolve_by("slot.ready", pipeline_id=stream.pipeline_id)
    if risk := _risk_of(stream, name, facts):
        step = (
            "Drop the slot on the page Streams, or let the pipeline follow its source again."
            if is_unused(stream)
            else "Let the stream catch up or resume it. A slot that is lost needs a new snapshot."
        )
        raise_alert("slot.at_risk", "warning", risk, step, pipeline=stream.pipeline)
    else:
        resolve_by("slot.safe", pipeline_id=stream.pipeline_id)


def _report_lost(stream: Stream, name: str) -> None:
    raise_alert(
        "slot.lost",
        "error",
        f"The server has removed log that the slot {name} of {stream.pipeline} needs. The stream cannot continue.",
        "Approve a new snapshot on the page Streams. Raise max_slot_wal_keep_size, so that it does not happen again.",
        pipeline=stream.pipeline,
    )


def _risk_of(stream: Stream, name: str, facts: SlotFacts | None) -> str:
    """Return why the slot is at risk, or endangers the disk of the source; "" if it does not."""
    if facts is None or facts.is_lost:
        return ""
    held = facts.retained_bytes or 0
    pipeline = stream.pipeline
    if what := why_unused(stream):
        text = f"The slot {name} of the {what} pipeline {pipeline} holds {size_text(held)} of log on its source's disk."
        return text if held >= UNUSED_BYTES else ""
    if facts.safe_bytes is None:
        text = f"The slot {name} holds {size_text(held)} of log, and its server has no limit: its disk may fill up."
        return text if held >= UNLIMITED_BYTES and facts.status != "unreserved" else ""
    if facts.status == "unreserved" or facts.safe_bytes < LEFT_SHARE * (facts.safe_bytes + held):
        left = size_text(max(facts.safe_bytes, 0))
        return f"The slot {name} holds {size_text(held)} of log, and is lost after another {left}."
    return ""


def source_connection(stream: Stream) -> Connection:
    """Return the connection of the stream's source. Raises FlowError."""
    document, source = _followed_source(stream)
    return resolve_connections(stream.workspace, document)[source.connection or ""]


def _followed_source(stream: Stream) -> tuple[Pipeline, Source]:
    """Return the source that the newest document follows, or that the newest run of the stream has followed. Raises
    FlowError `stream.source_unknown`."""
    pipeline = stream.pipeline
    newest = PipelineVersion.objects.filter(pipeline=pipeline, number=pipeline.latest_number)
    runs = Run.objects.filter(pipeline=pipeline, kind=RunKind.STREAM, version__isnull=False).order_by("-number")
    for text in (*newest.values_list("document", flat=True), *runs.values_list("version__document", flat=True)[:1]):
        document = read_document(text)
        followed = {target.cdc_source for target in document.targets()}
        for node in document.nodes:
            if isinstance(node, Source) and node.id in followed:
                return document, node
    raise FlowError(
        "stream.source_unknown",
        f"No document or run of {pipeline.slug!r} names the source that its stream follows.",
        hint="Drop its replication slot in the source: SELECT slot_name FROM pg_replication_slots lists all slots.",
    )


def drop_slot(stream: Stream, by: str, reason: str) -> None:
    """Drop the slot of a stream that does not run, so that its server can remove the log, and the publication that Flow
    has created for it. The stream then needs a new snapshot. Raises FlowError `stream.slot_in_use`, and `Failure` if
    the server refuses."""
    is_active = Run.counted.filter(pipeline=stream.pipeline, state__in=ACTIVE).exists()
    if is_active or (stream.state == StreamState.RUNNING and not is_unused(stream)):
        raise FlowError(
            "stream.slot_in_use",
            f"The stream of {stream.pipeline.slug!r} still needs its slot.",
            hint="Pause the stream or disable the pipeline, and wait until its run has ended.",
        )
    if not CONNECTORS[_followed_source(stream)[1].connector].has_slot:
        raise FlowError(
            "stream.no_slot",
            f"The source of {stream.pipeline.slug!r} has no slot: its server removes its log after a time.",
            hint="Nothing is to be dropped.",
        )
    drop_unread_slot(source_connection(stream), slot_of(stream), _names_of(stream))
    StreamChange.objects.create(
        workspace_id=stream.workspace_id,
        stream=stream,
        action=StreamAction.SLOT_DROPPED,
        by=by[:300],
        reason=reason[:2000],
    )
    Stream.objects.filter(pk=stream.pk).update(slot={"name": slot_of(stream), "status": "missing"}, slot_seen_at=Now())
    for event in ("slot.safe", "slot.ready"):
        resolve_by(event, pipeline_id=stream.pipeline_id)


def refuse_deletion(pipeline: PipelineModel) -> None:
    """Refuse to delete a pipeline while its slot exists: nothing would watch it any more. Raises FlowError
    `stream.slot_exists`."""
    stream = Stream.objects.filter(pipeline=pipeline, slot_seen_at__gt=timezone.now() - FRESH).first()
    if stream is not None and stream.has_slot:
        raise FlowError(
            "stream.slot_exists",
            f"The replication slot {stream.slot['name']} of {pipeline.slug!r} exists, and its server would retain log "
            "for it without an end.",
            hint="Pause the stream and drop its slot on the page Streams, then delete the pipeline.",
        )


def watch_if_enabled() -> None:
    if settings.FLOW_STREAMING_ENABLED:
        watch_streams()
