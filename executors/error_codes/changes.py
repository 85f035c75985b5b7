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
        "Remove upsertKey, or change the replica identity of the table.",
    ),
    ErrorCode(
        "cdc.key_required",
        "A table has no key that the log contains.",
        "Add a primary key, or name a unique index as its replica identity. The message has the statement.",
    ),
    ErrorCode(
        "cdc.key_type",
        "A key column is a text in the target and another type at the source, or the other way round.",
        "Give the column of the table the type that it has at the source.",
    ),
    ErrorCode(
        "cdc.log_missing",
        "The replication slot no longer has changes that the target lacks.",
        _AGAIN,
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
        "ALTER ROLE … REPLICATION; create the publication as the owner of the table. The message has the statement.",
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
    ErrorCode("cdc.standby", "The server of a followed table is a standby.", "Connect to the primary server."),
    ErrorCode(
        "cdc.table_unusable",
        "The log does not contain the changes of a table: it is unlogged, a view, or has heirs.",
        "Read it with the connector postgres.",
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
