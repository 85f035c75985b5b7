"""Warnings before a user changes a watermark: whether the next load can recognize the rows in the table."""

from __future__ import annotations

from dataclasses import dataclass

from executors.model import Destination
from executors.postgres.ddl import Conn
from executors.postgres.unique_keys import UniqueKey, list_unique_keys
from executors.table_name import TableName

_TRIGGERS = """
SELECT t.tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s AND NOT t.tgisinternal AND t.tgenabled IN ('O', 'A')
      AND t.tgtype & 1 = 1 AND t.tgtype & 20 <> 0 ORDER BY 1"""


@dataclass(frozen=True, slots=True)
class WatermarkDoubt:
    code: str
    message: str
    hint: str


def list_doubts(conn: Conn, dest: Destination | None) -> list[WatermarkDoubt]:
    """Return warnings. After a watermark is set or reset, the next load recognizes loaded rows in the table by their
    key, or else by their values, which triggers may have changed."""
    if dest is None or not dest.row_triggers:
        return []
    table = TableName(dest.schema, dest.table)
    if any(_is_loaded(dest, key) for key in list_unique_keys(conn, table)):
        return []
    triggers = ", ".join(name for (name,) in conn.execute(_TRIGGERS, [dest.schema, dest.table]).fetchall())
    return [
        WatermarkDoubt(
            "watermark.rows_may_repeat",
            f"{table} has triggers that may change values ({triggers}), and no unique key whose columns are all loaded "
            "and never NULL. After you set back or reset the watermark, rows are compared with the table by all their "
            "values. Rows that a trigger has changed load a second time.",
            "Add a primary key over columns that are loaded, or delete the rows at or above the new watermark from the "
            "table before the next run.",
        )
    ]


def _is_loaded(dest: Destination, key: UniqueKey) -> bool:
    """Return whether a key can identify loaded rows. A column with a default is probably filled by the table itself."""
    columns = [dest.column(part.name) for part in key.columns]
    return all(c is not None and not (c.nullable or c.has_default or c.generated) for c in columns)
