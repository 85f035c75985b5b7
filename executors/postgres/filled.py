"""Whether a table is empty enough for a load of the whole history, which adds every row."""

from __future__ import annotations

from psycopg import sql

from executors.postgres.ddl import Conn
from executors.postgres.names import identifier_of
from executors.postgres.watermarks import WatermarkKey, find_watermark, has_watermarks


def describe_content(conn: Conn, key: WatermarkKey) -> str:
    """Return what a table has that a load of the whole history would add to, in words; "" if it has neither rows nor a
    watermark, or does not exist."""
    stored = find_watermark(conn, key) if has_watermarks(conn) else None
    if stored is not None:
        return f"a watermark ({stored.column} {stored.value})"
    table = identifier_of(key.table)
    found = conn.execute("SELECT to_regclass(%s) IS NOT NULL", [table.as_string(conn)]).fetchone()
    if not (found and found[0]):
        return ""
    rows = conn.execute(sql.SQL("SELECT EXISTS (SELECT FROM {})").format(table)).fetchone()
    return "rows already" if rows and rows[0] else ""
