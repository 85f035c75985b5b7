"""The codes of failures of ops, rules, checks and hooks."""

from __future__ import annotations

from ir.error_codes import ErrorCode

CODES = (
    ErrorCode(
        "cast.type",
        "A cast has formats or separators, but its column is not text.",
        "Remove them. They describe values in text columns.",
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
    ErrorCode("column.not_json", "An operation on JSON names another column.", "Name a column of JSON or text."),
    ErrorCode(
        "custom.export_missing",
        "A module does not export what Flow calls.",
        "Export memory, flow_alloc, flow_prepare and flow_apply, or build a component of the world custom.",
    ),
    ErrorCode(
        "custom.failing",
        "A module fails for too many rows of a batch.",
        "Correct the module. For bad values it should return a reason in the column _error.",
    ),
    ErrorCode(
        "custom.import_refused",
        "A module imports functions that Flow does not provide.",
        "Build it for WASI preview 1 without other imports, or as a component without imports.",
    ),
    ErrorCode(
        "custom.invalid_module",
        "A module does not compile.",
        "Upload a WebAssembly module or component, not its source.",
    ),
    ErrorCode(
        "custom.module_missing",
        "A module that the document names is not in the workspace.",
        "Let an admin upload the module with this hash, or choose another module.",
    ),
    ErrorCode(
        "custom.prepare_failed",
        "A module refuses its columns or its config.",
        "Correct fields, columns or config of the operation.",
    ),
    ErrorCode(
        "custom.schema",
        "A module returns other columns than the operation declares.",
        "Correct columns of the operation, or the module.",
    ),
    ErrorCode(
        "custom.timed_out",
        "A call of a module took too long.",
        "Run it again. If it happens again, the module needs fewer steps for a row.",
        503,
    ),
    ErrorCode("custom.too_large", "A module is too large.", "Build it without debug information and for small size."),
    ErrorCode(
        "deduplicate.order_type",
        "Rows cannot be ordered by a column of this type.",
        "Order by a number, a date, a time stamp or a text.",
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
        "An expression returns a type that a column cannot have.",
        "Cast the result to a type that columns can have.",
    ),
    ErrorCode(
        "branch.not_boolean", "A condition of a branch is not true or false.", "Write a condition, such as amount > 0."
    ),
    ErrorCode(
        "filter.not_boolean", "A filter's expression is not true or false.", "Write a condition, such as amount > 0."
    ),
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
        "While a hook before the swap runs, its load has a read lock on the old table. Statements that "
        "lock out readers, such as CLUSTER or REINDEX of that table, must run after the swap: remove `when`.",
        status=503,
    ),
    ErrorCode(
        "hook.view_not_unique",
        "The view cannot be refreshed concurrently.",
        "Create such an index, refresh it once without `concurrently`, or leave `concurrently` out.",
    ),
    ErrorCode(
        "hook.warned",
        "PostgreSQL warned that a hook did only a part of its work.",
        "Let the table's owner, or a role with the right MAINTAIN, be the connection's user.",
    ),
    ErrorCode(
        "join.key_not_unique",
        "A join would multiply rows: several rows of its reference have the key of a row.",
        "Keep one row of each key with deduplicate in a transform between the reference and the join.",
    ),
    ErrorCode(
        "join.reference_empty",
        "The reference of a join has no rows.",
        "Restore the rows, or correct the source of the reference.",
    ),
    ErrorCode(
        "join.reference_unreadable",
        "A record of the reference of a join cannot be read with the types of its columns.",
        "Correct the record, or leave it out with a filter in a transform before the join.",
    ),
    ErrorCode(
        "rule.not_boolean", "A rule's expression is not true or false.", "Write a condition, such as amount > 0."
    ),
    ErrorCode("trim.type", "A trim names a column that is not text.", "Trim columns of text."),
    ErrorCode("webhook.redirected", "The receiver redirects.", "Name the address that it redirects to."),
    ErrorCode("webhook.refused", "The receiver refused the request.", "Check the receiver's log."),
    ErrorCode(
        "webhook.unavailable",
        "The receiver cannot take the request at the moment.",
        "Flow tries again. If it lasts, check the receiver's log.",
        status=503,
    ),
    ErrorCode(
        "window.order_type",
        "Rows cannot be ordered by a column of this type.",
        "Order by a number, a date, a time stamp or a text.",
    ),
    ErrorCode("window.sum_type", "A running sum names a column that is not a number.", "Cast the column to a number."),
)
