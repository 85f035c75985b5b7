"""The target connector `delta`: Delta tables in a folder or bucket."""

from __future__ import annotations

from ir.connectors.base import TargetConnector

TARGET = TargetConnector(
    "delta",
    "Delta table",
    "Delta tables",
    "A table of Parquet files with a transaction log, in a folder or bucket.",
    connection_kinds=("folder", "s3"),
    load_modes=frozenset({"append", "truncate", "upsert", "blue_green"}),
    lacks={
        "hooks": "Remove the hooks, or load a PostgreSQL table.",
        "holds": "Use failAtRejectedPct, which fails a load, or expectedRowCountDelta, which raises an alert.",
        "samples": "Use a target in a PostgreSQL database.",
        "undo": "Remove backupBeforeLoad: a Delta table has its earlier versions until they are vacuumed.",
        "unions": "Load each source into a table of its own, or load a PostgreSQL table.",
        "backfills": "Remove backfill: the first run loads everything at once.",
    },
    no_checks={
        "customSql": "Use another check, or rules of rows (rowLevel).",
        "fkIntegrity": "Join the reference with a transform, and reject the rows without a match.",
    },
    no_types=frozenset({"json", "uuid", "time", "pg"}),
    max_precision=38,
    runs_sql=False,
    quarantine_elsewhere=True,
    names=r"[^\W_][\w .-]*(?<![ .])",
)
