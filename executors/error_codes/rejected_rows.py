"""The codes of rejected rows, their replays and their fixes."""

from __future__ import annotations

from ir.error_codes import ErrorCode

CODES = (
    ErrorCode("errors.gave_up", "Reading rejected rows took too long.", "Filter by run, rule, field or status."),
    ErrorCode("fix.value_unusable", "The value cannot be stored in a row.", "Nothing was changed."),
    ErrorCode(
        "quarantine.unusable",
        "The table for rejected rows cannot be used.",
        "Name another table in the validate node, or rename this one and let Flow create its own.",
    ),
    ErrorCode(
        "replay.aggregates",
        "The replay would pass an aggregate, which makes groups of all rows.",
        "Correct the rows in their source, or the rule, and run the pipeline again: it makes all groups anew, and "
        "closes these rows.",
    ),
    ErrorCode(
        "replay.mirror",
        "The target follows a table, which may have changed or deleted the rows since.",
        "Correct the rows at their source. The next load applies the changes; then ignore these rows.",
    ),
    ErrorCode(
        "replay.deduplicates",
        "The replay would pass a deduplicate step.",
        "Correct the rows in their source, or the rule, and run the pipeline over them again; then ignore "
        "these. A target with loadMode upsert, whose upsertKey consists of these keys, allows replays if no later "
        "operation filters rows.",
    ),
    ErrorCode("replay.gone", "The rows of the replay are no longer known.", "Choose the rows again."),
    ErrorCode(
        "replay.keys_appeared",
        "Rows with the same keys appeared during the replay.",
        "The target was not loaded. Replay the rows again.",
        status=503,
    ),
    ErrorCode(
        "replay.no_quarantine",
        "The pipeline no longer names the database with the rejected rows.",
        "Enable the quarantine of the validate node again, with the connection of that database.",
    ),
    ErrorCode(
        "replay.no_watermark",
        "The target has no watermark yet.",
        "Set the watermark of this target first, then replay the rows.",
    ),
    ErrorCode(
        "replay.rows_changed",
        "Rejected rows changed during the replay.",
        "The target was not loaded. Replay the rows again: only open rows are included.",
        status=503,
    ),
    ErrorCode(
        "replay.target_gone",
        "The pipeline no longer has the target of the replay.",
        "Add it to the pipeline again, or ignore the rows.",
    ),
    ErrorCode(
        "replay.window",
        "The replay would pass a window, which computes columns from several rows.",
        "Correct the rows in their source, or the rule, and run the pipeline over them again; then ignore these.",
    ),
    ErrorCode(
        "rows.lost",
        "The numbers of rows do not add up.",
        "The target was not loaded. Please report this with the kind and size of the source.",
    ),
    ErrorCode(
        "sample.aggregates",
        "A sample would make groups of some rows only.",
        "Preview the node instead, or write the rules by what you know of the groups.",
    ),
    ErrorCode(
        "rows.too_many_rejected",
        "More rows were rejected than the target allows.",
        "Correct the source or the rules. If such a load is expected, set failAtRejectedPct of the target to 0.",
    ),
)
