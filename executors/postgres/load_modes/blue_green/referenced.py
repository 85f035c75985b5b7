"""The failure of a replacement that would remove rows to which rows of other tables refer."""

from __future__ import annotations

from psycopg import errors

from executors.errors import Terminal
from executors.table_name import TableName


def still_referenced(table: TableName, node: str, error: errors.ForeignKeyViolation) -> Terminal:
    diag = error.diag
    # The driver's text quotes values of the row, and a logged traceback prints the whole chain.
    error.args = (f"SQLSTATE {error.sqlstate}",)
    return Terminal(
        "target.still_referenced",
        f"{diag.schema_name}.{diag.table_name} refers, by its foreign key {diag.constraint_name!r}, to rows of "
        f"{table} that the new rows lack. Nothing was changed.",
        node=node,
        hint="Load the missing rows too, or delete the rows that refer to them first.",
    )
