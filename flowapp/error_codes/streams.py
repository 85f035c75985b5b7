"""Codes of streams."""

from __future__ import annotations

from ir.error_codes import ErrorCode

CODES = (
    ErrorCode(
        "stream.not_running",
        "The stream is not running.",
        "Resume it on the page Streams, or by `flow stream resume PIPELINE`.",
        status=409,
    ),
    ErrorCode(
        "stream.running",
        "The stream is running, so that there is nothing to start.",
        "It loads changes as they arrive. Pause it, or request a new snapshot.",
        status=409,
    ),
    ErrorCode(
        "stream.no_slot",
        "The source of a stream has no replication slot.",
        "Nothing is to be dropped: its server removes its log after a time.",
        status=409,
    ),
    ErrorCode(
        "stream.slot_exists",
        "The replication slot of the pipeline exists, and its server would retain log for it without an end.",
        "Pause the stream, drop its slot on the page Streams or by `flow stream drop-slot PIPELINE`, then delete the "
        "pipeline.",
        status=409,
    ),
    ErrorCode(
        "stream.slot_in_use",
        "The replication slot is still needed.",
        "Archive or disable the pipeline first, and wait until its run has ended.",
        status=409,
    ),
    ErrorCode(
        "stream.source_unknown",
        "No document or run of the pipeline names the source that its stream follows.",
        "Drop its replication slot in the source.",
        status=409,
    ),
    ErrorCode(
        "stream.unknown",
        "The pipeline has no stream.",
        "A stream exists once a pipeline with the load mode cdc_mirror was started.",
        status=404,
    ),
)
