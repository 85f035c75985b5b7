"""Watch the log that streams read without a slot: its server removes it after a time, whether it was read or not."""

from __future__ import annotations

from executors.api import FileFacts, observe_file
from executors.model import StoreConnection
from flowapp.alerts.services import raise_alert, resolve_by
from flowapp.clock import Now
from flowapp.streams.models import Stream
from ir.words import duration_text

LEFT_SHARE = 0.25
"""Log is at risk when less than this share of the time is left after which its server removes it."""


def watch_file(stream: Stream, connection: StoreConnection, *, is_unused: bool) -> None:
    """Observe the file of the log that a stream reads next. Raises FlowError."""
    if not stream.counted:
        return
    facts = observe_file(connection, stream.counted)
    observed = {
        "name": facts.name,
        "status": "lost" if facts.is_lost else "file",
        "behind_bytes": facts.behind_bytes,
        "left_seconds": facts.left_seconds,
        "is_file": True,
    }
    Stream.objects.filter(pk=stream.pk).update(slot=observed, slot_seen_at=Now())
    if facts.is_lost:
        _report_lost(stream, facts)
        return
    resolve_by("slot.ready", pipeline_id=stream.pipeline_id)
    if is_unused or not is_at_risk(facts):
        resolve_by("slot.safe", pipeline_id=stream.pipeline_id)
        return
    raise_alert(
        "slot.at_risk",
        "warning",
        f"{stream.pipeline} has not loaded all changes of the log {facts.name}, which its server may remove in "
        f"{duration_text(facts.left_seconds or 0.0)}.",
        "Let the stream catch up or resume it, or raise binlog_expire_logs_seconds of the server. Without this log the "
        "stream needs a new snapshot.",
        pipeline=stream.pipeline,
    )


def is_at_risk(facts: FileFacts) -> bool:
    """Whether little is left of the time after which the server removes the file."""
    if facts.left_seconds is None or facts.expire_seconds is None:
        return False
    return facts.left_seconds < LEFT_SHARE * facts.expire_seconds


def _report_lost(stream: Stream, facts: FileFacts) -> None:
    resolve_by("slot.safe", pipeline_id=stream.pipeline_id)
    raise_alert(
        "slot.lost",
        "error",
        f"The server has removed its log {facts.name}, which {stream.pipeline} has not loaded. The stream cannot "
        "continue.",
        "Approve a new snapshot on the page Streams. Raise binlog_expire_logs_seconds, so that it does not happen "
        "again.",
        pipeline=stream.pipeline,
    )
