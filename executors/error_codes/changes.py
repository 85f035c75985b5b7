"""The codes of sources that follow the changes of a table."""

from __future__ import annotations

from ir.error_codes import ErrorCode

_AGAIN = "Load the table again, with a reason: flow run --load-again."

CODES = (
    ErrorCode(
        "cdc.slot_read",
        "A replication slot cannot be dropped while something reads it.",
        "Wait until the run has ended, then drop the slot.",
        status=409,
    ),
    ErrorCode(
        "cdc.column_filled",
        "A new column of a followed table may have values in rows that existed before it.",
        f"{_AGAIN} The log does not contain these values.",
    ),
    ErrorCode(
        "cdc.column_replaced",
        "A column of a followed table has got its name from another column.",
        f"{_AGAIN} The log does not contain its values in rows that have not changed.",
    ),
    ErrorCode(
        "cdc.columns_changed_inside",
        "A transaction has changed the columns of a followed table between changes of its rows.",
        _AGAIN,
    ),
    ErrorCode(
        "cdc.key_changed",
        "The key of a followed table has changed since the changes that the log contains.",
        _AGAIN,
    ),
    ErrorCode(
        "cdc.key_changed_by_transform",
        "A transform drops or changes a column of the key of a followed table.",
        "Rename key columns at most.",
    ),
    ErrorCode(
        "cdc.key_differs",
        "upsertKey names other columns than those by which the log identifies rows.",
        "Remove upsertKey, or do what the message says.",
    ),
    ErrorCode(
        "cdc.key_required",
        "A table has no key that the log contains.",
        "Add a primary key, or let the log contain another unique key. The message has the statement.",
    ),
    ErrorCode(
        "cdc.key_type",
        "A key column is a text in the target and another type at the source, or the other way round.",
        "Give the column of the table the type that it has at the source.",
    ),
    ErrorCode(
        "cdc.log_missing",
        "The server has removed log with changes that the target lacks.",
        f"{_AGAIN} Let the server retain its log for longer.",
    ),
    ErrorCode(
        "cdc.log_unreadable",
        "The server has sent a change that Flow cannot read.",
        "Report this with the version of the server. Nothing was loaded.",
    ),
    ErrorCode(
        "cdc.no_changes",
        "Rows were to be loaded into a mirror that are no changes of its source.",
        "Correct the row at its source. The next load applies the change.",
    ),
    ErrorCode(
        "cdc.no_slot_free",
        "The server has no free replication slot or sender.",
        "Raise max_replication_slots and max_wal_senders of the server.",
    ),
    ErrorCode(
        "cdc.not_allowed",
        "The user of the connection may not read the log, or not create a publication.",
        "Grant what the message names: it has the statement.",
    ),
    ErrorCode(
        "cdc.publication_missing",
        "The publication that a source names does not exist.",
        "Create it, or remove publication from the source.",
    ),
    ErrorCode(
        "cdc.publication_unfit",
        "A publication does not contain all rows, columns or operations of a followed table.",
        "Change it, or remove publication from the source.",
    ),
    ErrorCode(
        "cdc.slot_in_use",
        "Something else reads the replication slot.",
        "End the other reader, or give the source a slot of its own.",
        status=503,
    ),
    ErrorCode(
        "cdc.slot_lost",
        "The server has removed log that the replication slot needed.",
        f"{_AGAIN} Raise max_slot_wal_keep_size, or run more often.",
    ),
    ErrorCode("cdc.slot_missing", "The replication slot or the publication no longer exists.", _AGAIN),
    ErrorCode(
        "cdc.slot_unfit",
        "The replication slot is no logical slot of this database with the plugin pgoutput.",
        "Name another slot, or none, so that Flow creates one.",
    ),
    ErrorCode(
        "cdc.source_changed",
        "The source was restored, replaced, or taken over by a standby.",
        f"Check the source. {_AGAIN}",
    ),
    ErrorCode(
        "cdc.server_unsupported",
        "The server is none whose binary log Flow reads: only that of MariaDB is verified.",
        "Read the table with the connector mysql.",
    ),
    ErrorCode(
        "cdc.binlog_settings",
        "The server's settings leave changes out of its binary log.",
        "Set what the message names, restart the server, and load the table again.",
    ),
    ErrorCode(
        "cdc.changes_unlogged",
        "A foreign key changes rows of a followed table without an entry in the binary log.",
        "Use the action RESTRICT, or read the table with the connector mysql.",
    ),
    ErrorCode(
        "cdc.statement_logged",
        "The binary log contains a statement that changes rows, not the rows.",
        f"Let no session change binlog_format. {_AGAIN}",
    ),
    ErrorCode(
        "cdc.rows_incomplete",
        "The binary log contains changes of rows without all columns.",
        f"Let no session change binlog_row_image. {_AGAIN}",
    ),
    ErrorCode(
        "cdc.columns_rewritten",
        "A statement has changed or renamed columns of a followed table, and perhaps their values.",
        f"{_AGAIN} The log does not contain these values.",
    ),
    ErrorCode(
        "cdc.columns_unknown",
        "The columns of a followed table in the log are not those that Flow knows.",
        _AGAIN,
    ),
    ErrorCode(
        "cdc.xa_open",
        "An XA transaction was open when a mirror was to be loaded for the first time.",
        "Complete the transaction: XA RECOVER lists it. The run is tried again.",
        status=503,
    ),
    ErrorCode(
        "cdc.xa_unknown",
        "An XA transaction was completed whose changes are from before the first load.",
        _AGAIN,
    ),
    ErrorCode(
        "cdc.log_damaged",
        "An event of the binary log does not have the checksum that the server has computed.",
        "The run is tried again. If this repeats, check the disk of the server.",
        status=503,
    ),
    ErrorCode("cdc.standby", "The server of a followed table is a standby.", "Connect to the primary server."),
    ErrorCode(
        "cdc.table_unusable",
        "The log does not contain the changes of a table, or its rows cannot be read at a position of the log.",
        "Read it with the connector postgres or mysql.",
    ),
    ErrorCode("cdc.type_unknown", "The log has a column whose type was dropped since.", _AGAIN),
    ErrorCode(
        "cdc.value_missing",
        "An update lacks a large value that it has not changed, and the target does not have it.",
        f"Set REPLICA IDENTITY FULL where rules or transforms need the value. {_AGAIN}",
    ),
    ErrorCode(
        "cdc.wal_level",
        "The log of the server does not contain the changes of rows.",
        "Set wal_level = logical and restart the server.",
    ),
)
