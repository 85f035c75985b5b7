"""Stored watermarks of incremental loads, in `flow_meta` of the target database: read, moved by loads, changed by
users.

A watermark is stored as text of its type. `watermark_boundary_rows` contains hashes of the rows at the watermark,
`watermark_changes` its full history.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
from psycopg import sql
from psycopg.types.json import Jsonb

from executors.errors import Terminal
from executors.grammar.parse import parse_column
from executors.model import DestinationColumn
from executors.postgres.client import translate
from executors.postgres.ddl import Conn
from executors.postgres.table_lock import lock_table
from executors.postgres.valid_input import is_valid_input
from executors.postgres.watermark_types import WatermarkType, watermark_type
from executors.table_name import TableName

MOST_CHANGES = 100
"""The maximum number of changes of a watermark that are listed; all are stored."""
NO_WATERMARK = "0"
"""The tag of a missing watermark."""


@dataclass(frozen=True, slots=True)
class WatermarkKey:
    """Identifies a watermark: one pipeline at one table. `tenant` is the workspace's UUID."""

    tenant: str
    pipeline: str
    table: TableName

    @property
    def values(self) -> list[str]:
        return [self.tenant, self.pipeline, self.table.schema, self.table.table]


@dataclass(frozen=True, slots=True)
class StoredWatermark:
    """A stored watermark. `hashed` are the columns, with their types, over which the rows from `known_from` on are
    hashed; None if a user or a backfill set the watermark, so that known rows come from the table itself. A backfill
    stores its cut as `known_from`: rows from there on are not loaded yet."""

    id: int
    column: str
    type: str
    value: str
    revision: int
    known_from: str | None
    hashed: Mapping[str, str] | None
    changed_at: datetime

    @property
    def tag(self) -> str:
        """A value that differs after each change. A watermark that is set again after a reset has a new id."""
        return f"{self.id}.{self.revision}"


@dataclass(frozen=True, slots=True)
class WatermarkChange:
    """A change in a watermark's history. `action` is `run`, `set`, `reset` or `restore`; `by` is the user, None for
    runs."""

    at: datetime
    action: str
    by: str | None
    run_id: str | None
    reason: str
    column: str
    old: str | None
    new: str | None


_KEY = "WHERE tenant = %s AND pipeline = %s AND target_schema = %s AND target_table = %s"
_FIND = (
    "SELECT id, column_name, type, value, revision, known_from, hashed, changed_at FROM flow_meta.pipeline_watermarks"
)
_CHANGES = (
    "SELECT changed_at, action, changed_by, run_id, reason, column_name, old_value, new_value"
    " FROM flow_meta.watermark_changes"
)


def has_watermarks(conn: Conn) -> bool:
    """Return whether the database has tables for watermarks. Reading a watermark must not create them."""
    row = conn.execute("SELECT to_regclass('flow_meta.pipeline_watermarks') IS NOT NULL").fetchone()
    return bool(row and row[0])


def find_watermark(conn: Conn, key: WatermarkKey, *, lock: bool = False) -> StoredWatermark | None:
    """Return the stored watermark, None before the first load. `lock` locks it until the open transaction ends."""
    row = conn.execute(f"{_FIND} {_KEY}{' FOR UPDATE' if lock else ''}", key.values).fetchone()
    return StoredWatermark(*row) if row else None


def write_watermark(
    conn: Conn,
    key: WatermarkKey,
    column: str,
    kind: WatermarkType,
    value: str,
    *,
    known_from: str | None = None,
    hashed: Mapping[str, str] | None = None,
) -> int:
    """Store a watermark in the caller's transaction; returns its id."""
    row = conn.execute(
        "INSERT INTO flow_meta.pipeline_watermarks AS w (tenant, pipeline, target_schema, target_table, column_name,"
        " type, value, known_from, hashed) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)"
        " ON CONFLICT (tenant, pipeline, target_schema, target_table) DO UPDATE SET column_name = EXCLUDED.column_name,"
        " type = EXCLUDED.type, value = EXCLUDED.value, known_from = EXCLUDED.known_from, hashed = EXCLUDED.hashed,"
        " revision = w.revision + 1, changed_at = now() RETURNING w.id",
        [*key.values, column, kind.name, value, known_from, None if hashed is None else Jsonb(dict(hashed))],
    ).fetchone()
    if row is None:
        raise LookupError("the watermark was not written")
    return int(row[0])


def note_change(
    conn: Conn,
    key: WatermarkKey,
    action: str,
    column: str,
    old: str | None,
    new: str | None,
    *,
    reason: str,
    by: str | None = None,
    run_id: str | None = None,
) -> None:
    """Add a change to the history, in the caller's transaction."""
    conn.execute(
        "INSERT INTO flow_meta.watermark_changes (tenant, pipeline, target_schema, target_table, action, changed_by,"
        " run_id, reason, column_name, old_value, new_value) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
        [*key.values, action, by, run_id, reason, column, old, new],
    )


@translate()
def list_changes(conn: Conn, key: WatermarkKey) -> list[WatermarkChange]:
    """Return the newest changes, newest first."""
    with conn.transaction():
        rows = conn.execute(f"{_CHANGES} {_KEY} ORDER BY id DESC LIMIT %s", [*key.values, MOST_CHANGES]).fetchall()
    return [WatermarkChange(*row) for row in rows]


@translate()
def count_boundary_rows(conn: Conn, watermark: StoredWatermark) -> int:
    """Return how many rows at the watermark are known by their hashes."""
    with conn.transaction():
        row = conn.execute(
            "SELECT coalesce(sum(n), 0)::bigint FROM flow_meta.watermark_boundary_rows WHERE watermark = %s",
            [watermark.id],
        ).fetchone()
    return int(row[0]) if row else 0


# --- changes by users -------------------------------------------------------------------------------------------------


@translate()
def set_watermark(
    conn: Conn,
    key: WatermarkKey,
    column: DestinationColumn,
    value: str,
    *,
    by: str | None,
    reason: str,
    lead: str | None = None,
    expected: str | None = None,
) -> None:
    """Set the watermark to a value that a user chose, and delete its hashes: the next load looks in the table for rows
    at or above the watermark. `lead` is the target's watermarkLead; `expected` is the tag that the user has seen, if
    given. Raises Terminal for a value that does not fit the column or is later than the clock, or if the watermark has
    another tag, and TargetBusy."""
    kind = watermark_type(column, lead)
    with conn.transaction():
        new = read_value(conn, column, kind, value)
        lock_table(conn, key.table)
        old = find_watermark(conn, key, lock=True)
        _require_unchanged(old, key, expected)
        delete_boundary_rows(conn, old)
        write_watermark(conn, key, column.name, kind, new)
        note_change(conn, key, "set", column.name, old.value if old else None, new, reason=reason, by=by)


@translate()
def reset_watermark(conn: Conn, key: WatermarkKey, *, by: str | None, reason: str, expected: str | None = None) -> bool:
    """Delete the watermark and its hashes: the next load begins at the highest value of the table. Return False if
    there was none. Raises TargetBusy, and Terminal if the watermark has another tag than `expected`."""
    with conn.transaction():
        lock_table(conn, key.table)
        old = find_watermark(conn, key, lock=True)
        _require_unchanged(old, key, expected)
        if old is None:
            return False
        delete_boundary_rows(conn, old)
        conn.execute("DELETE FROM flow_meta.pipeline_watermarks WHERE id = %s", [old.id])
        note_change(conn, key, "reset", old.column, old.value, None, reason=reason, by=by)
    return True


def _require_unchanged(now: StoredWatermark | None, key: WatermarkKey, expected: str | None) -> None:
    """Refuse to change a watermark that a load or another user has changed since it was read."""
    if expected is None or expected == (now.tag if now else NO_WATERMARK):
        return
    found = f"It is {now.value} now" if now else "There is none now"
    raise Terminal(
        "watermark.stale",
        f"The watermark of {key.table} has changed since you read it. {found}. Nothing was changed.",
        hint="Read the watermark and its history again, then decide.",
    )


def delete_boundary_rows(conn: Conn, watermark: StoredWatermark | None) -> None:
    """Forget which rows at a watermark are known, in the caller's transaction: the next load reads the table."""
    if watermark is not None:
        conn.execute("DELETE FROM flow_meta.watermark_boundary_rows WHERE watermark = %s", [watermark.id])


def read_value(conn: Conn, column: DestinationColumn, kind: WatermarkType, text: str) -> str:
    """Return the value in the form in which the database writes it, like those that loads store."""
    if "\0" in text or not _fits_grammar(column, text) or not _is_valid(conn, column, text):
        raise _malformed(column, text)
    typed = kind.literal(text.strip() if kind.family != "text" else text)
    query = sql.SQL("SELECT {}::text, {}, {}, to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI')")
    row = conn.execute(query.format(typed, kind.is_finite(typed), kind.is_ahead(typed))).fetchone()
    if row is None or not row[1]:
        raise _malformed(column, text)
    if row[2]:
        raise _ahead(column, text, row[3])
    return str(row[0])


def _fits_grammar(column: DestinationColumn, text: str) -> bool:
    """Return whether the grammar of files accepts the text. PostgreSQL would accept `now` and `tomorrow` as times,
    which are not allowed in files and watermarks."""
    _, bad = parse_column(pa.array([text], pa.string()), column.type)
    return not bad[0].as_py()


def _is_valid(conn: Conn, column: DestinationColumn, text: str) -> bool:
    row = conn.execute(sql.SQL("SELECT {}").format(is_valid_input(conn, sql.Literal(text), column.declared))).fetchone()
    return bool(row and row[0])


def _ahead(column: DestinationColumn, text: str, clock: str) -> Terminal:
    return Terminal(
        "watermark.value_in_future",
        f"{text!r} for column {column.name!r} is later than the clock of the database ({clock} UTC): every row before "
        "it would be skipped.",
        hint="Write a time that has passed; a watermarkLead of the target lets watermarks go further.",
    )


def _malformed(column: DestinationColumn, text: str) -> Terminal:
    return Terminal(
        "watermark.value_malformed",
        f"{text!r} is not a value of column {column.name!r}, which is {column.declared}.",
        hint="Write it as a file would: 2026-01-31, 2026-01-31T10:00:00.123456Z, 9007199254740993.",
    )
