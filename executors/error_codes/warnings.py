"""The codes of warnings of runs, beside those of failures that did not stop the run."""

from __future__ import annotations

from ir.error_codes import WarningCode, warnings_of

WARNING_CODES = warnings_of(
    WarningCode(
        "backfill.nulls_left",
        "The source has rows without a value in the column that the target follows.",
        "Give them a value, filter them out in a query, or follow another column. Until then the load after the "
        "backfill rejects them, or fails if the target aborts on rows that do not fit.",
    ),
    WarningCode(
        "backfill.range_cut",
        "A range that is loaded again has no chunks, or ends before the given end.",
        "Run the pipeline: the next load reads the rows from the end of the range on.",
    ),
    WarningCode(
        "backfill.range_left",
        "The target has rows of a range that the source does not have any more.",
        "Delete the rows from the target yourself if they are not wanted. An upsert deletes none.",
    ),
    WarningCode(
        "backfill.range_replaced",
        "The rows of a range were replaced when it was loaded again.",
        "Compare the numbers. Rows that the source has deleted since are gone from the target too.",
    ),
    WarningCode(
        "backfill.rows_added",
        "Rows came into a part of the source that a backfill had already read.",
        "Load the ranges of the chunks that the message names again. Divide the backfill by a column whose values only "
        "grow.",
    ),
    WarningCode(
        "backfill.rows_gone",
        "The table has fewer rows than the chunks of a backfill have inserted.",
        "Find out what has deleted rows or emptied the table, then load the ranges of the chunks again.",
    ),
    WarningCode(
        "backfill.rows_moved",
        "Rows of a part of the source that a backfill had already read were deleted, or have another cursor value.",
        "Load the ranges of the chunks that the message names again: their rows are replaced by those that the source "
        "has now. Use upsert for rows whose cursor value changes.",
    ),
    WarningCode(
        "cdc.columns_left_out",
        "Generated columns of a followed table are not in its log.",
        "Let the target compute them. PostgreSQL 18 can publish stored ones.",
    ),
    WarningCode(
        "cdc.slot_unguarded",
        "The log that a replication slot retains can fill the disk of its server.",
        "Set max_slot_wal_keep_size of the server, such as 20GB.",
    ),
    WarningCode(
        "check.failed",
        "A dataset check with onFail warn failed; the load continued.",
        "See the result of the check, and correct the source or the check.",
    ),
    WarningCode("check.noted", "A dataset check passed with a remark.", "Read its message. Nothing needs to be done."),
    WarningCode(
        "file.held_back",
        "Files wait for an older file that has not been loaded.",
        "Correct or remove the file that the message names; then the files after it are loaded.",
    ),
    WarningCode(
        "file.late",
        "A file arrived after newer files had been loaded.",
        "Check whether its rows replaced newer ones; with orderBy an upsert keeps the newest.",
    ),
    WarningCode(
        "file.members_not_read",
        "Files in a ZIP archive were not read.",
        "If they hold rows, set members in the source to a pattern that their names match. If not, set it to a "
        "pattern of the others: then only the log names the files that are not read.",
    ),
    WarningCode(
        "file.repeated",
        "A file has the same content as another of the run.",
        "It is read once. Remove the copy if it was sent by mistake.",
    ),
    WarningCode(
        "http_api.only_one_page",
        "A web service was read as one page, and does not say that it is the only one.",
        "If the service has more records, set pages, and check its path. If not, set total, which is compared.",
    ),
    WarningCode(
        "http_api.no_value",
        "No record of an incremental source has a value in its field, so each load reads all records.",
        "Correct the field of incremental.",
    ),
    WarningCode(
        "singer.errors_logged",
        "A tap logged errors but ended well.",
        "See the log of the run. Rows may be missing: load everything again once the cause is corrected.",
    ),
    WarningCode(
        "schema.changed",
        "The columns of the table changed with those of the source.",
        "See whether readers of the table need the change. Nothing needs to be done.",
    ),
    WarningCode(
        "join.none_matched",
        "No row of a join has a match.",
        "Check whether the key columns hold the same values, written alike.",
    ),
    WarningCode(
        "preview.row_triggers",
        "The table has row triggers, whose effect a preview cannot show.",
        "Check what the triggers change.",
    ),
    WarningCode(
        "rejects.not_kept",
        "Violations were counted but their rows were not stored.",
        "Add a quarantine to the validate node to keep such rows.",
    ),
    WarningCode(
        "restore.hooks_not_run",
        "A restore did not run the target's hooks.",
        "Run them yourself if other systems need their effects.",
    ),
    WarningCode(
        "restore.others_undone", "A restore removed rows of other pipelines or targets.", "Load those rows again there."
    ),
    WarningCode(
        "rows.ahead_of_clock",
        "Rows are later than the database's clock, infinite or NaN.",
        "The watermark does not follow them. Set watermarkLead if such times are right.",
    ),
    WarningCode(
        "rows.below_watermark",
        "Rows below the watermark were not loaded.",
        "If they are late, set the watermark back and load again, or set a watermarkLag.",
    ),
    WarningCode(
        "rows.counted_twice",
        "The targets of a source loaded some of the same files.",
        "The rows of those files count once for each target. Nothing needs to be done.",
    ),
    WarningCode(
        "rows.known_by_key",
        "Rows count as loaded by their key, though the table has other values.",
        "Find out what changed the values in the table or at the source.",
    ),
    WarningCode(
        "rows.may_repeat",
        "Rows were loaded that the table may have already.",
        "Look for duplicate rows, and give the table a key.",
    ),
    WarningCode(
        "rows.older",
        "Rows were not loaded because the table has newer ones.",
        "Nothing needs to be done where orderBy names the right column.",
    ),
    WarningCode(
        "rows.rejected",
        "Rows broke a rule and were rejected.",
        "Look at the rejected rows; correct the source or the rule.",
    ),
    WarningCode("rows.suppressed", "A trigger of the table prevented rows.", "Check the triggers of the table."),
    WarningCode(
        "rows.warned",
        "Rows broke a rule that only warns.",
        "Look at these rows; let the rule reject them if they must not be loaded.",
    ),
    WarningCode("source.blank", "Files have no rows and no columns.", "Check whether the sender has lost its data."),
    WarningCode("source.empty", "Files arrived, but none has rows.", "Check whether the sender has lost its data."),
    WarningCode(
        "source.header",
        "A file's header was completed, or does not fit the format of the source.",
        "Correct the header, or the format of the source.",
    ),
    WarningCode("source.missed", "No file was found.", "Check whether the sender has stopped."),
    WarningCode(
        "rows.removed",
        "A mirror had rows that the source does not have, and its load of all rows deleted them.",
        "See whether something else writes to the table. The backup of an earlier load has the rows, if there is one.",
    ),
    WarningCode(
        "source.newer_snapshot",
        "The targets of a run were loaded from different moments of a source.",
        "Run again where they have to agree.",
    ),
    WarningCode(
        "source.not_one_moment",
        "The rows of a source may be from several moments.",
        "Let the database read snapshots (in SQL Server: ALTER DATABASE … SET ALLOW_SNAPSHOT_ISOLATION ON), or load "
        "while nothing is written.",
    ),
    WarningCode(
        "target.renamed",
        "Files count as loaded by a target that the pipeline no longer has.",
        "Load again, with a reason, if this target is to load them too.",
    ),
    WarningCode(
        "watermark.ahead_of_clock",
        "The watermark is later than the database's clock.",
        "Set the watermark back if that is wrong.",
    ),
    WarningCode(
        "watermark.rows_may_be_hidden",
        "Row security may hide rows of the table from the connection's user.",
        "Let the user see all rows of the table, or turn row security off for it.",
    ),
)
