"""The codes of Delta tables as targets."""

from __future__ import annotations

from ir.error_codes import ErrorCode

CODES = (
    ErrorCode(
        "target.columns_changed",
        "The columns of a Delta table changed while a load ran.",
        "Try again. The next attempt uses the new columns.",
        status=503,
    ),
    ErrorCode(
        "target.delta_unsupported",
        "A Delta table has a feature that Flow does not support.",
        "Load another table, or remove the feature from this one.",
    ),
    ErrorCode(
        "target.markers_lost",
        "The record of a load of a Delta table is missing.",
        "Restore the folder _flow of the connection.",
    ),
    ErrorCode(
        "target.merge_failed",
        "Comparing the rows of a load with those of its Delta table failed.",
        "Try again. Report it if it fails again.",
        status=503,
    ),
    ErrorCode(
        "target.merge_too_large",
        "The rows of an upsert do not fit into memory and temporary folder.",
        "Free space in the temporary folder of the worker, or load in smaller parts.",
    ),
    ErrorCode(
        "target.store_failed",
        "The store of a Delta table does not respond, or fails.",
        "Test the connection of the target.",
        status=503,
    ),
    ErrorCode(
        "target.store_missing",
        "The bucket of a Delta table does not exist.",
        "Correct the bucket of the connection, or create it.",
    ),
    ErrorCode(
        "target.store_refused",
        "The store of a Delta table refuses access.",
        "Give the key of the connection the rights to list, read, write and delete objects.",
    ),
)
