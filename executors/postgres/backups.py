"""Snapshots of a target's rows: taken in the transaction of a load, put back in one of their own, dropped in time.

A snapshot is a table in `flow_backups` with a row in `flow_meta.backups` that says what it is of. It holds what is
stored: generated columns make themselves again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass

from psycopg import sql
from psycopg.types.json import Jsonb

from executors.errors import Terminal
from executors.model import Backup, BackupRef
from executors.postgres.client import translate
from executors.postgres.ddl import Conn, ddl
from executors.postgres.load_modes.blue_green.in_place import rows_replaced
from executors.postgres.load_modes.blue_green.obstacles import find_obstacles
from executors.postgres.meta import BACKUPS, RunRef
from executors.postgres.names import TableName
from executors.postgres.quarantine import count_as_not_loaded
from executors.postgres.staging import one_number

_COLUMNS = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_attribute a
WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
ORDER BY a.attnum"""


def backup_table(ref: BackupRef) -> sql.Identifier:
    """Where a snapshot stands: the same place for the same load, and no other."""
    digest = hashlib.sha256(json.dumps([ref.run_id, ref.node]).encode()).hexdigest()[:32]
    return sql.Identifier(BACKUPS, f"b_{digest}")


def take_backup(conn: Conn, run: RunRef, table: TableName) -> Backup:
    """Keep the table as it is before this load, with its mark, in the load's transaction.

    Nobody writes to the table from here until that ends, so what is kept is just what the load changes.
    """
    ref = BackupRef(run.run_id, run.node)
    columns = _stored_columns(conn, table)
    conn.execute(sql.SQL("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE").format(table.identifier))
    # A policy would keep rows out of the snapshot; with this it is an error.
    conn.execute("SET LOCAL row_security = off")
    place = backup_table(ref)
    conn.execute(sql.SQL("CREATE TABLE {} AS SELECT {} FROM {}").format(place, _list(columns), table.identifier))
    conn.execute("SET LOCAL row_security = on")
    conn.execute(sql.SQL("REVOKE ALL ON {} FROM PUBLIC").format(place))
    backup = Backup(ref.run_id, ref.node, table.schema, table.table, _count(conn, place))
    conn.execute(
        "INSERT INTO flow_meta.backups (run_id, node, tenant, pipeline, target_schema, target_table, columns, n_rows,"
        " token) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)",
        [ref.run_id, ref.node, run.tenant, run.pipeline, table.schema, table.table, Jsonb(columns), backup.rows,
         run.token],
    )  # fmt: skip
    _keep_mark(conn, ref)
    return backup


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore did: rows deleted and put back, the files that count as not loaded any more, those that do."""

    rows_before: int
    rows: int
    undone: tuple[str, ...]
    files: tuple[str, ...]


def restore_backup(conn: Conn, run: RunRef, ref: BackupRef, table: TableName) -> Restored:
    """Put the rows, the mark and the states of files back as they were before a load, in the caller's transaction.

    Raises Terminal if the snapshot is gone, is of another table, or the table can no longer take its rows.
    """
    columns, rows, token = _find(conn, run, ref, table)
    _require_columns(conn, table, columns)
    before = _replace_rows(conn, run, ref, table, columns, rows)
    _put_mark_back(conn, run, ref)
    undone = _undo_commits(conn, run, token)
    return Restored(before, rows, undone, _files_before(conn, run, token))


@translate()
def drop_backups(conn: Conn, refs: Collection[BackupRef]) -> None:
    """Drop snapshots that are past their time; what is gone already is no error."""
    for ref in refs:
        with ddl(conn):
            conn.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(backup_table(ref)))
            for name in ("backup_ties", "backups"):
                place = sql.Identifier("flow_meta", name)
                conn.execute(
                    sql.SQL("DELETE FROM {} WHERE run_id = %s AND node = %s").format(place), [ref.run_id, ref.node]
                )


# --- rows -------------------------------------------------------------------------------------------------------------


def _stored_columns(conn: Conn, table: TableName) -> dict[str, str]:
    return dict(conn.execute(_COLUMNS, [table.identifier.as_string(conn)]).fetchall())


def _find(conn: Conn, run: RunRef, ref: BackupRef, table: TableName) -> tuple[dict[str, str], int, int]:
    found = conn.execute(
        "SELECT target_schema, target_table, columns, n_rows, token FROM flow_meta.backups"
        " WHERE run_id = %s AND node = %s AND tenant = %s AND pipeline = %s FOR UPDATE",
        [ref.run_id, ref.node, run.tenant, run.pipeline],
    ).fetchone()
    if found is None:
        raise Terminal(
            "backup.gone",
            "The backup is no longer in the database: it was past its time, or the database is an older state.",
            node=ref.node,
            hint="Load the table again from its source.",
        )
    schema, name, columns, rows, token = found
    if (of := TableName(schema, name)) != table:
        raise Terminal(
            "backup.other_table",
            f"The backup is of {of}; the target loads {table} now.",
            node=ref.node,
            hint="Name the old table in the target again, then restore.",
        )
    return columns, rows, token


def _require_columns(conn: Conn, table: TableName, columns: dict[str, str]) -> None:
    now = _stored_columns(conn, table)
    if changed := sorted(name for name, kind in columns.items() if now.get(name) != kind):
        raise Terminal(
            "backup.table_changed",
            f"{table} has changed since the backup: {', '.join(changed)} "
            f"{'is' if len(changed) == 1 else 'are'} gone or of another type. Nothing was changed.",
            hint="Give the table these columns back, then restore.",
        )


def _replace_rows(conn: Conn, run: RunRef, ref: BackupRef, table: TableName, columns: dict[str, str], rows: int) -> int:
    insert = sql.SQL("INSERT INTO {} ({}) OVERRIDING SYSTEM VALUE SELECT {} FROM {}").format(
        table.identifier, _list(columns), _list(columns), backup_table(ref)
    )
    before = _count(conn, table.identifier)
    if find_obstacles(conn, table).against_delete:
        # Refused by the database where other tables refer to this one.
        conn.execute(sql.SQL("TRUNCATE TABLE {}").format(table.identifier))
        inserted = conn.execute(insert).rowcount
    else:
        with rows_replaced(conn, table, run.node):
            inserted = conn.execute(insert).rowcount
    if inserted != rows:
        raise Terminal(
            "rows.lost",
            f"The backup has {rows:,} rows; the database counts {inserted:,} put back into {table}.",
            node=run.node,
            hint="Nothing was changed. Look for rules and triggers on the table.",
        )
    return before


def _count(conn: Conn, place: sql.Identifier) -> int:
    return one_number(conn, sql.SQL("SELECT count(*) FROM {}").format(place))


def _list(columns: Collection[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, columns))


# --- the mark ---------------------------------------------------------------------------------------------------------

_KEEP_MARK = """
UPDATE flow_meta.backups b SET mark = to_jsonb(w) FROM flow_meta.pipeline_watermarks w
WHERE b.run_id = %(run)s AND b.node = %(node)s AND w.tenant = b.tenant AND w.pipeline = b.pipeline
AND w.target_schema = b.target_schema AND w.target_table = b.target_table"""

_KEEP_TIES = """
INSERT INTO flow_meta.backup_ties (run_id, node, hash, value, n)
SELECT b.run_id, b.node, t.hash, t.value, t.n FROM flow_meta.backups b
JOIN flow_meta.watermark_ties t ON t.watermark = (b.mark ->> 'id')::bigint
WHERE b.run_id = %(run)s AND b.node = %(node)s"""

_NOTE_CHANGE = """
INSERT INTO flow_meta.watermark_changes
(tenant, pipeline, target_schema, target_table, action, run_id, reason, column_name, old_value, new_value)
SELECT b.tenant, b.pipeline, b.target_schema, b.target_table, 'restore', %(by)s, 'a backup was restored',
coalesce(w.column_name, b.mark ->> 'column_name'), w.value, b.mark ->> 'value'
FROM flow_meta.backups b LEFT JOIN flow_meta.pipeline_watermarks w ON w.tenant = b.tenant
AND w.pipeline = b.pipeline AND w.target_schema = b.target_schema AND w.target_table = b.target_table
WHERE b.run_id = %(run)s AND b.node = %(node)s AND coalesce(w.value, b.mark ->> 'value') IS NOT NULL"""

_FORGET_MARK = """
WITH gone AS (
    DELETE FROM flow_meta.pipeline_watermarks w USING flow_meta.backups b
    WHERE b.run_id = %(run)s AND b.node = %(node)s AND w.tenant = b.tenant AND w.pipeline = b.pipeline
    AND w.target_schema = b.target_schema AND w.target_table = b.target_table RETURNING w.id
)
DELETE FROM flow_meta.watermark_ties t USING gone WHERE t.watermark = gone.id"""

_PUT_MARK = """
WITH put AS (
    INSERT INTO flow_meta.pipeline_watermarks
    (tenant, pipeline, target_schema, target_table, column_name, type, value, revision, known_from, hashed)
    SELECT b.tenant, b.pipeline, b.target_schema, b.target_table, b.mark ->> 'column_name', b.mark ->> 'type',
    b.mark ->> 'value', (b.mark ->> 'revision')::bigint + 1, b.mark ->> 'known_from',
    nullif(b.mark -> 'hashed', 'null'::jsonb) FROM flow_meta.backups b
    WHERE b.run_id = %(run)s AND b.node = %(node)s AND b.mark IS NOT NULL RETURNING id
)
INSERT INTO flow_meta.watermark_ties (watermark, hash, value, n) SELECT put.id, t.hash, t.value, t.n
FROM put CROSS JOIN flow_meta.backup_ties t WHERE t.run_id = %(run)s AND t.node = %(node)s"""


def _keep_mark(conn: Conn, ref: BackupRef) -> None:
    for statement in (_KEEP_MARK, _KEEP_TIES):
        conn.execute(statement, {"run": ref.run_id, "node": ref.node})


def _put_mark_back(conn: Conn, run: RunRef, ref: BackupRef) -> None:
    """The mark and its hashes as they were, or none if there was none; noted in its history."""
    for statement in (_NOTE_CHANGE, _FORGET_MARK, _PUT_MARK):
        conn.execute(statement, {"run": ref.run_id, "node": ref.node, "by": run.run_id})


# --- the files --------------------------------------------------------------------------------------------------------

_HELD_SINCE = """
SELECT run_id, files_done, counts -> 'told' -> 'tables' FROM flow_meta.load_commits
WHERE tenant = %s AND pipeline = %s AND node = %s AND token >= %s"""

_NEWEST_BEFORE = """
SELECT files_done FROM flow_meta.load_commits WHERE tenant = %s AND pipeline = %s AND node = %s AND token < %s
ORDER BY token DESC, committed_at DESC LIMIT 1"""


def _undo_commits(conn: Conn, run: RunRef, token: int) -> tuple[str, ...]:
    """Let the load of the backup and those after it hold no files any more; gives the files that they held.

    The markers stay: they tell that the runs did commit. The rows that they rejected are read again with the files.
    """
    held = conn.execute(_HELD_SINCE, [run.tenant, run.pipeline, run.node, token]).fetchall()
    runs = [run_id for run_id, _, _ in held]
    conn.execute(
        "UPDATE flow_meta.load_commits SET files_done = '{}' WHERE run_id = ANY(%s) AND node = %s", [runs, run.node]
    )
    count_as_not_loaded(conn, run, runs, {table for _, _, tables in held for table in tables or ()})
    return tuple(sorted({sha256 for _, files, _ in held for sha256 in files}))


def _files_before(conn: Conn, run: RunRef, token: int) -> tuple[str, ...]:
    """The files of the newest load before the one that the backup was taken for."""
    row = conn.execute(_NEWEST_BEFORE, [run.tenant, run.pipeline, run.node, token]).fetchone()
    return tuple(row[0]) if row else ()
