"""Codes of backfills."""

from __future__ import annotations

from ir.error_codes import ErrorCode

CODES = (
    ErrorCode(
        "backfill.chunk_unknown",
        "The backfill has no chunk of this number.",
        "`flow backfill status` shows the numbers.",
        status=404,
    ),
    ErrorCode(
        "backfill.chunks_failed",
        "Some chunks of a backfill failed; the others are loaded.",
        "Open the failed chunks, correct the cause, and retry them.",
    ),
    ErrorCode(
        "backfill.no_plan", "The source returned no plan of its chunks.", "Run the pipeline again, or report the error."
    ),
    ErrorCode(
        "backfill.none",
        "The pipeline has no backfill.",
        "Add a backfill to its document, or run it: its first run plans the backfill.",
        status=404,
    ),
    ErrorCode(
        "backfill.nothing_failed", "No chunk of the backfill has failed.", "There is nothing to retry.", status=409
    ),
    ErrorCode(
        "backfill.nothing_outdated",
        "All chunks were loaded as the newest version of the pipeline says.",
        "There is nothing to load again.",
        status=409,
    ),
    ErrorCode(
        "backfill.outdated",
        "The source, the target or the startFrom of the pipeline has changed since the chunks were planned.",
        "Restore the former version, or plan all chunks again: rewind without a range.",
        status=409,
    ),
    ErrorCode("backfill.paused", "The backfill is paused.", "Resume it.", status=409),
    ErrorCode(
        "backfill.range_invalid",
        "The range does not fit the cursor of the backfill.",
        "Give values of the type that the message names, the lower one first.",
    ),
    ErrorCode(
        "backfill.range_of_unfinished",
        "No range can be loaded again before the history is loaded.",
        "Finish the backfill first, or rewind without a range.",
        status=409,
    ),
    ErrorCode(
        "backfill.rate_unknown",
        "The broker, which counts the requests to the source, does not answer.",
        "Make the broker available again. The run is retried.",
        status=503,
    ),
    ErrorCode(
        "backfill.removed",
        "The newest document of the pipeline has no backfill.",
        "Add the backfill again, or run the pipeline without one.",
        status=409,
    ),
    ErrorCode(
        "backfill.state", "The state of the backfill does not allow this.", "Look at its state first.", status=409
    ),
    ErrorCode(
        "backfill.in_progress",
        "The history of the source is not loaded yet, so the pipeline cannot load what is new.",
        "Finish the backfill, then run the pipeline again.",
        status=409,
    ),
)
