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
        "stream.slot_in_use",
        "The replication slot is still needed.",
        "Archive or disable the pipeline first, and wait until its run has ended.",
        status=409,
    ),
    ErrorCode(
        "stream.unknown",
        "The pipeline has no stream.",
        "A stream exists once a pipeline with the load mode cdc_mirror was started.",
        status=404,
    ),
)
