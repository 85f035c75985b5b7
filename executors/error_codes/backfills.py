"""The codes of backfills. Those that a document shows are in `ir.codes`."""

from __future__ import annotations

from ir.error_codes import ErrorCode

CODES = (
    ErrorCode(
        "backfill.column_differs",
        "The target follows another column than the backfill.",
        "Divide the backfill by the column that becomes the watermark, and pass it on unchanged.",
    ),
    ErrorCode(
        "backfill.chunk_loaded",
        "The table has the rows of the chunk, though the control database does not know it.",
        "Empty the table, and plan everything again: rewind without a range.",
    ),
    ErrorCode(
        "backfill.chunks_lost",
        "The table does not have the rows of all chunks any more.",
        "Plan everything again. For a target with a watermark, empty the table and reset the watermark first.",
    ),
    ErrorCode("backfill.column_unknown", "The source does not have the column.", "Use a column of the source."),
    ErrorCode("backfill.not_ended", "The target has no watermark yet.", "Let the backfill end first."),
    ErrorCode(
        "backfill.range_empty",
        "The range to load again has no part that the next load does not read anyway.",
        "Give a lower value for the beginning of the range, or run the pipeline.",
    ),
    ErrorCode(
        "backfill.range_unknown",
        "The rows of a range cannot be distinguished from those of others.",
        "Add the column _flow_run uuid before the first load, or use upsert.",
    ),
    ErrorCode(
        "backfill.rows_survived",
        "A trigger or a rule prevents that rows of a range are replaced.",
        "Check the DELETE triggers and rules of the table.",
    ),
    ErrorCode("backfill.start_after_end", "No row of the source is at or above startFrom.", "Correct startFrom."),
    ErrorCode(
        "backfill.target_filled",
        "The table has rows or a watermark already.",
        "Empty the table and reset its watermark, remove backfill from the pipeline, or use upsert.",
    ),
    ErrorCode(
        "backfill.target_followed",
        "The table has got a watermark while chunks were missing.",
        "Remove backfill from the pipeline, or empty the table, reset its watermark and plan everything again.",
    ),
    ErrorCode("backfill.too_many_chunks", "The backfill would have too many chunks.", "Use a larger window."),
    ErrorCode(
        "backfill.type_changed",
        "The cursor column has another type than when the chunks were planned.",
        "Start the backfill again.",
    ),
    ErrorCode(
        "backfill.type_differs",
        "The cursor column has another type in the target than in the source.",
        "Change the type of the target's column, or load the table without backfill.",
    ),
    ErrorCode(
        "backfill.unfinished",
        "A backfill of the table has not ended.",
        "Resume the backfill, or set the watermark to a value below which no row is missing.",
    ),
    ErrorCode(
        "backfill.value_malformed",
        "A text is not a value of the cursor column.",
        "Write a value of the type of the cursor.",
    ),
)
