"""The codes of target databases, their tables and watermarks."""

from __future__ import annotations

from ir.error_codes import ErrorCode

CODES = (
    ErrorCode("connection.unknown", "The connection does not exist.", "Add it, or correct it.", status=404),
    ErrorCode(
        "destination.not_supported",
        "The pipeline asks for something that its destination cannot do.",
        "Remove this from the pipeline, or choose another destination.",
    ),
    ErrorCode(
        "schema.change_pending",
        "The columns of the source have changed, and the policy of the source asks a person.",
        "Accept or reject the changes on the page Schema changes, or by flow schema accept; then run again.",
    ),
    ErrorCode(
        "schema.change_rejected",
        "The columns of the source have changed, and a person has rejected the change. It stays rejected under each "
        "policy.",
        "Correct the source, drop the column in a transform, or accept the change.",
    ),
    ErrorCode(
        "schema.incompatible",
        "The columns of the source have changed in a way that the table cannot follow without a decision.",
        "Cast or rename the column in a transform, or accept the change.",
    ),
    ErrorCode(
        "schema.not_possible",
        "The table cannot be altered as the change of its source needs.",
        "Change the table yourself with the statement of the hint, then run again.",
    ),
    ErrorCode(
        "undo.aggregated",
        "A file with aggregated rows cannot be undone.",
        "Restore a backup of the table, or load the other files into an empty table.",
        status=409,
    ),
    ErrorCode(
        "undo.cascades",
        "Deleting the rows of the file would change other tables.",
        "Restore a backup of the table, or change the foreign keys.",
        status=409,
    ),
    ErrorCode(
        "undo.columns_missing",
        "The table does not record which file its rows came from.",
        "Restore a backup of the table; add the columns for files that are loaded from now on.",
        status=409,
    ),
    ErrorCode(
        "undo.count_slow",
        "The rows of the file could not be counted in time.",
        "Create an index on _source_file_hash, then try again.",
        status=409,
    ),
    ErrorCode("undo.done", "The file is undone already.", "To load it again, choose Load again.", status=409),
    ErrorCode(
        "undo.load_mode",
        "The load mode does not allow a file to be undone.",
        "Restore a backup of the table.",
        status=409,
    ),
    ErrorCode("undo.not_loaded", "The pipeline has not loaded the file.", "There is nothing to undo.", status=409),
    ErrorCode(
        "undo.referenced",
        "Rows of another table refer to rows of the file.",
        "Delete the rows that refer to them first.",
        status=409,
    ),
    ErrorCode(
        "undo.rows_changed",
        "The file has another number of rows than was shown.",
        "Look at the numbers again, then undo the file.",
        status=409,
    ),
    ErrorCode(
        "undo.rows_survived",
        "A trigger or a rule prevents rows from being deleted.",
        "Check the DELETE triggers and rules of the table.",
        status=409,
    ),
    ErrorCode("undo.table_gone", "The table does not exist any more.", "There is nothing to undo.", status=409),
    ErrorCode(
        "undo.target_gone", "The pipeline no longer has the target.", "Add it again, then undo the file.", status=409
    ),
    ErrorCode("staging.lost", "The staged rows are gone.", "The source is read again.", status=503),
    ErrorCode(
        "staging.types_differ",
        "The staging table has other column types.",
        "The staging table is gone or was made for other columns; start the run again.",
    ),
    ErrorCode(
        "table.name_unreadable",
        "The text is not the name of a table.",
        'Write schema.name, with double quotes around a part that holds a dot: dlq."My.Orders".',
    ),
    ErrorCode(
        "target.altered",
        "The table was altered during the load.",
        "Run it again: the new table then gets the altered definition.",
        status=503,
    ),
    ErrorCode(
        "target.auth_failed",
        "The database refused user and password.",
        "Replace the password of the connection, or correct its user.",
    ),
    ErrorCode(
        "target.busy",
        "Another load holds the table.",
        "The run waits in the queue until that load has ended.",
        status=503,
    ),
    ErrorCode("target.cancelled", "A statement was cancelled.", "Run it again.", status=503),
    ErrorCode(
        "target.character_unusable",
        "The database's encoding lacks a character.",
        "Remove it from the pipeline's names, rules and queries, or use a database in UTF8.",
    ),
    ErrorCode("target.column_generated", "A column is computed by the table.", "Drop the column in a transform."),
    ErrorCode(
        "target.column_required",
        "A required column gets no value.",
        "Derive it in a transform, or give the column a default.",
    ),
    ErrorCode("target.column_reserved", "A column has a reserved name.", "Rename or drop it in a transform."),
    ErrorCode(
        "target.column_unknown", "The table lacks a column.", "Add the column to the table, or drop it in a transform."
    ),
    ErrorCode(
        "target.constraint",
        "A row violates a constraint of the table.",
        "Correct the source, or set onTypeMismatch to skip to put such rows into quarantine.",
    ),
    ErrorCode(
        "target.database_unknown",
        "The database does not exist.",
        "Correct the database of the connection, or create it.",
    ),
    ErrorCode("target.deadlock", "The database ended a deadlock.", "Try again.", status=503),
    ErrorCode(
        "target.driver_failed",
        "The database driver failed.",
        "Try again. If it repeats, report it with the server's log.",
    ),
    ErrorCode("target.failed", "The database refused a statement.", "The server's log has the details of this state."),
    ErrorCode(
        "target.forbidden", "The connection's user lacks a privilege.", "Grant the privilege that the message names."
    ),
    ErrorCode(
        "target.function_failed",
        "A database function raised an exception.",
        "Check the function, which a trigger, a view or a generated column may call. Its text may hold "
        "row values and is shown to editors and admins.",
    ),
    ErrorCode(
        "target.key_repeated",
        "Two rows have the same key in the table.",
        "A trigger changes the key, or its type rounds it. Make the key unique at the source, in the form in "
        "which the table stores it.",
    ),
    ErrorCode(
        "target.limit_exceeded",
        "A limit of the database server was exceeded.",
        "Correct the source. With onTypeMismatch skip, rows that are too large for an index go to quarantine.",
    ),
    ErrorCode(
        "target.lock_timeout",
        "A lock was not granted in time.",
        "Find the session that holds it in pg_stat_activity, and try again.",
        status=503,
    ),
    ErrorCode(
        "target.lost",
        "The connection to the database was lost.",
        "The server restarted or the network broke; what was not committed is undone. Try again.",
        status=503,
    ),
    ErrorCode(
        "target.name_unusable", "A column name cannot be used in the database.", "Rename or drop it in a transform."
    ),
    ErrorCode(
        "target.out_of_resources", "The database server lacks resources.", "Free some and try again.", status=503
    ),
    ErrorCode("target.read_only", "The database is read-only.", "Connect to the primary server."),
    ErrorCode(
        "target.rows_survived",
        "A trigger prevents the deletion of rows.",
        "Check the triggers that run before a row is deleted, or use load mode truncate.",
    ),
    ErrorCode(
        "target.rules",
        "The table has a rewrite rule.",
        "Drop or disable it (ALTER TABLE … DISABLE RULE …), or replace it by a trigger.",
    ),
    ErrorCode(
        "target.schema_unknown",
        "The schema does not exist.",
        "Correct the target's schema, or create it; Flow creates tables, not schemas.",
    ),
    ErrorCode("target.serialization", "Another transaction changed the same rows.", "Try again.", status=503),
    ErrorCode(
        "target.setting_unusable",
        "The connection's user has an unsafe setting.",
        "As a superuser: ALTER ROLE … RESET the setting, for the role and for the role in this database.",
    ),
    ErrorCode(
        "target.statement_refused",
        "The database does not allow the statement.",
        "Use another load mode, or remove the obstacle that the message names.",
    ),
    ErrorCode(
        "target.still_referenced",
        "Another table refers to rows that would be removed.",
        "Load the missing rows too, or delete the rows that refer to them first.",
    ),
    ErrorCode(
        "target.table_changed",
        "The target now loads another table.",
        "Load again, with a reason, to fill the new table with all files; or name the old table.",
    ),
    ErrorCode(
        "target.table_gone",
        "The table no longer exists.",
        "Restore the table; or reset the watermark, with a reason, to fill a new table from the start.",
    ),
    ErrorCode(
        "target.table_unknown", "The table does not exist.", "It may have been dropped or renamed during the run."
    ),
    ErrorCode(
        "target.too_many_columns",
        "The table would have too many columns.",
        "Drop columns in a transform, or load several tables.",
    ),
    ErrorCode(
        "target.too_many_connections",
        "The database has no connection left.",
        "Try again later, or raise max_connections of the server.",
        status=503,
    ),
    ErrorCode(
        "target.type_unknown",
        "The database has no such type.",
        "Types outside pg_catalog need their schema: pg:public.citext.",
    ),
    ErrorCode(
        "target.type_unsupported",
        "The server does not support a column's type.",
        "Make the column text, drop it in a transform, or use a server with XML support.",
    ),
    ErrorCode(
        "target.unreachable",
        "The database cannot be reached.",
        "Check host and port of the connection, and that the server runs and can be reached from here.",
        status=503,
    ),
    ErrorCode(
        "target.value_refused",
        "The database refused a value.",
        "Set onTypeMismatch to skip or null to let such rows out, or correct the source.",
    ),
    ErrorCode(
        "target.vanished", "The table was created or dropped during the load.", "The run is tried again.", status=503
    ),
    ErrorCode(
        "target.went_back",
        "The database no longer has a committed load.",
        "Compare the table with its source, then load what is missing again, with a reason.",
    ),
    ErrorCode(
        "upsert.key_repeated",
        "Rows have the same upsert key.",
        "The target was not loaded. Name the column whose highest value is the newest in orderBy, or make the key "
        "unique at the source.",
    ),
    ErrorCode(
        "watermark.changed",
        "The stored watermark belongs to another column.",
        "Reset the watermark to continue from the highest value of the table, or set it, with a reason.",
    ),
    ErrorCode(
        "watermark.column_missing",
        "The table or its watermark column does not exist.",
        "Run the pipeline once to make the table; its first load takes all rows.",
    ),
    ErrorCode(
        "watermark.moved",
        "The watermark was changed during the load.",
        "The next attempt begins at the new watermark.",
        status=503,
    ),
    ErrorCode(
        "watermark.stale",
        "The watermark has changed since it was read.",
        "Read the watermark and its history again, then decide.",
        status=412,
    ),
    ErrorCode(
        "watermark.too_many_ties",
        "Too many rows have the watermark's value.",
        "Use load mode upsert, a finer watermarkColumn, or a shorter watermarkLag; for rows dated after the "
        "clock of the database a watermarkLead.",
    ),
    ErrorCode(
        "watermark.value_in_future",
        "The watermark is later than the database's clock.",
        "Write a time that has passed; a watermarkLead of the target lets watermarks go further.",
    ),
    ErrorCode(
        "watermark.value_malformed",
        "The text is not a value of the watermark's column.",
        "Write it as a file would: 2026-01-31, 2026-01-31T10:00:00.123456Z, 9007199254740993.",
    ),
)
