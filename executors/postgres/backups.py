"""Snapshots of a target's rows: taken in the transaction of a load, restored in a transaction of their own, dropped
when they expire.

A snapshot is a table in `flow_backups` with a row in `flow_meta.backups` that describes it. It contains stored columns
only, because generated columns are computed again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from psycopg import sql
from psycopg.types.json import Jsonb

from executors.errors import Terminal
from executors.load_record import RunRef
from executors.model import Backup, BackupRef
from executors.postgres.backup_files import keep_undone, others_since, put_files_back
from executors.postgres.backup_watermarks import restore_watermark, save_watermark
from executors.postgres.client import translate
from executors.postgres.ddl import Conn, ddl
from executors.postgres.inspect import inspect_target
from executors.postgres.load_modes.blue_green.in_place import rows_replaced
from executors.postgres.load_modes.blue_green.obstacles import find_obstacles
from executors.postgres.meta import BACKUPS
from executors.postgres.names import identifier_of
from executors.postgres.staging import one_number
from executors.table_name import TableName
from ir.words import counted

_COLUMNS = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_attribute a
WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
ORDER BY a.attnum"""

_HEIRS = """
SELECT i.inhrelid::regclass::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhparent
WHERE i.inhparent = %s::regclass AND c.relkind <> 'p' ORDER BY 1"""


def backup_table(ref: BackupRef) -> sql.Identifier:
    """Return the name of a snapshot's table, which is unique for each load."""
    digest = hashlib.sha256(json.dumps([ref.run_id, ref.node]).encode()).hexdigest()[:32]
    return sql.Identifier(BACKUPS, f"b_{digest}")


@translate()
def require_restorable(conn: Conn, table: TableName) -> None:
    """Refuse a table with inheritance children: a backup could not record which of the tables each row belongs to."""
    with conn.transaction():
        heirs = conn.execute(_HEIRS, [identifier_of(table).as_string(conn)]).fetchall()
    if heirs:
        raise Terminal(
            "backup.not_possible",
            f"{', '.join(name for (name,) in heirs)} {'inherits' if len(heirs) == 1 else 'inherit'} from {table}: a "
            "backup holds the rows of all of them and could not restore each to its table.",
            hint="Set backupBeforeLoad to false for this table, or partition the table.",
        )


def take_backup(conn: Conn, run: RunRef, table: TableName) -> Backup:
    """Copy the table as it is before this load, and its watermark, in the load's transaction.

    The lock prevents other writers until the transaction ends, so that the snapshot differs from the result by this
    load only.
    """
    ref = BackupRef(run.run_id, run.node)
    columns = _stored_columns(conn, table)
    conn.execute(sql.SQL("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE").format(identifier_of(table)))
    # A policy would hide rows from the snapshot; with this setting it raises an error.
    conn.execute("SET LOCAL row_security = off")
    backup_name = backup_table(ref)
    conn.execute(
        sql.SQL("CREATE TABLE {} AS SELECT {} FROM {}").format(backup_name, _list(columns), identifier_of(table))
    )
    conn.execute("SET LOCAL row_security = on")
    conn.execute(sql.SQL("REVOKE ALL ON {} FROM PUBLIC").format(backup_name))
    backup = Backup(ref.run_id, ref.node, table.schema, table.table, _count(conn, backup_name))
    conn.execute(
        "INSERT INTO flow_meta.backups (run_id, node, tenant, pipeline, target_schema, target_table, columns, n_rows,"
        " token, taken_at) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, clock_timestamp())",
        [
            ref.run_id,
            ref.node,
            run.tenant,
            run.pipeline,
            table.schema,
            table.table,
            Jsonb(columns),
            backup.rows,
            run.token,
        ],
    )
    save_watermark(conn, ref)
    keep_undone(conn, ref)
    return backup


@dataclass(frozen=True, slots=True)
class Restored:
    """The result of a restore: the numbers of deleted and restored rows, the files that count as loaded now, and which
    of them did not count before (`redone`) or do not count any more (`undone`). Files in `deleted` have no rows again,
    because a user had deleted them. `others` names pipelines and targets
    whose rows the restore removed."""

    rows_before: int
    rows: int
    files: tuple[str, ...]
    undone: tuple[str, ...]
    redone: tuple[str, ...]
    deleted: tuple[str, ...]
    others: tuple[str, ...]


def restore_backup(conn: Conn, run: RunRef, ref: BackupRef, table: TableName) -> Restored:
    """Restore the rows, the watermark and the states of files before a load, in the caller's transaction.

    Raises Terminal if the snapshot is missing or belongs to another table, or if the table cannot store its rows.
    """
    columns, rows = _find(conn, run, ref, table)
    # A policy would hide rows, which would then remain in addition to those of the backup; with this setting it raises
    # an error.
    conn.execute("SET LOCAL row_security = off")
    # Writers wait from here on, so that the conditions checked below still hold when the rows are replaced.
    conn.execute(sql.SQL("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE").format(identifier_of(table)))
    _require_columns(conn, table, columns)
    _require_no_later_values(conn, table, columns)
    others = others_since(conn, ref, table)
    rows_before = _replace_rows(conn, run, ref, table, columns, rows)
    restore_watermark(conn, run, ref)
    before, now = put_files_back(conn, run, ref)
    files, had = _with_rows(now), _with_rows(before)
    deleted = (now.keys() - files) - (before.keys() - had)
    sets = (files, before.keys() - now.keys(), files - had, deleted)
    loaded, undone, redone, deleted_again = (tuple(sorted(found)) for found in sets)
    return Restored(rows_before, rows, loaded, undone, redone, deleted_again, others)


def _with_rows(held: Mapping[str, bool]) -> set[str]:
    return {sha256 for sha256, is_deleted in held.items() if not is_deleted}


@translate()
def drop_backups(conn: Conn, refs: Collection[BackupRef]) -> None:
    """Drop expired snapshots. Missing ones are ignored."""
    for ref in refs:
        with ddl(conn):
            conn.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(backup_table(ref)))
            for name in ("backup_ties", "backups"):
                backup_name = sql.Identifier("flow_meta", name)
                conn.execute(
                    sql.SQL("DELETE FROM {} WHERE run_id = %s AND node = %s").format(backup_name),
                    [ref.run_id, ref.node],
                )


def _stored_columns(conn: Conn, table: TableName) -> dict[str, str]:
    return dict(conn.execute(_COLUMNS, [identifier_of(table).as_string(conn)]).fetchall())


def _find(conn: Conn, run: RunRef, ref: BackupRef, table: TableName) -> tuple[dict[str, str], int]:
    found = conn.execute(
        "SELECT target_schema, target_table, columns, n_rows FROM flow_meta.backups"
        " WHERE run_id = %s AND node = %s AND tenant = %s AND pipeline = %s FOR UPDATE",
        [ref.run_id, ref.node, run.tenant, run.pipeline],
    ).fetchone()
    if found is None:
        raise Terminal(
            "backup.gone",
            "The backup is no longer in the database. It expired, or the database was restored to an older state.",
            node=ref.node,
            hint="Load the table again from its source.",
        )
    schema, name, columns, rows = found
    if (of := TableName(schema, name)) != table:
        raise Terminal(
            "backup.other_table",
            f"The backup is of {of}, but the target now loads {table}.",
            node=ref.node,
            hint="Set the target back to the old table, then restore.",
        )
    return columns, rows


def _require_columns(conn: Conn, table: TableName, columns: dict[str, str]) -> None:
    now = _stored_columns(conn, table)
    if changed := sorted(name for name, kind in columns.items() if now.get(name) != kind):
        raise Terminal(
            "backup.table_changed",
            f"{table} has changed since the backup: {', '.join(changed)} "
            f"{'is' if len(changed) == 1 else 'are'} gone or of another type. Nothing was changed.",
            hint="Add these columns to the table again, then restore.",
        )


def _require_no_later_values(conn: Conn, table: TableName, columns: Collection[str]) -> None:
    """Refuse a table with values in columns that the backup lacks: replacing the rows would delete these values."""
    later = [name for name in _stored_columns(conn, table) if name not in columns]
    if not later:
        return
    counts = [sql.SQL("count({})").format(sql.Identifier(name)) for name in later]
    query = sql.SQL("SELECT {} FROM {}").format(sql.SQL(", ").join(counts), identifier_of(table))
    found = conn.execute(query).fetchone() or ()
    if lost := [f"{name} ({counted(n, 'value')})" for name, n in zip(later, found, strict=True) if n]:
        raise Terminal(
            "backup.columns_added",
            f"{table} has columns that were added after the backup, and the restore would delete their values: "
            f"{', '.join(lost)}. Nothing was changed.",
            hint="Copy these values to another table and drop the columns, restore, then add the columns again.",
        )


def _replace_rows(conn: Conn, run: RunRef, ref: BackupRef, table: TableName, columns: dict[str, str], rows: int) -> int:
    insert = sql.SQL("INSERT INTO {} ({}) OVERRIDING SYSTEM VALUE SELECT {} FROM {}").format(
        identifier_of(table), _list(columns), _list(columns), backup_table(ref)
    )
    before = _count(conn, identifier_of(table))
    if find_obstacles(conn, table).against_delete:
        # PostgreSQL refuses this if other tables refer to this one.
        conn.execute(sql.SQL("TRUNCATE TABLE {}").format(identifier_of(table)))
        inserted = conn.execute(insert).rowcount
    else:
        with rows_replaced(conn, table, run.node):
            inserted = conn.execute(insert).rowcount
    if inserted != rows:
        raise Terminal(
            "rows.lost",
            f"The backup has {rows:,} rows; but {inserted:,} were restored into {table}.",
            node=run.node,
            hint="Nothing was changed. Check the rules and triggers of the table.",
        )
    _require_same(conn, ref, table, columns)
    return before


def _require_same(conn: Conn, ref: BackupRef, table: TableName, columns: Collection[str]) -> None:
    """Refuse a restore in which a trigger changes rows. Without a trigger the rows are not compared."""
    dest = inspect_target(conn, table.schema, table.table)
    if dest is None or not dest.row_triggers:
        return
    values = sql.SQL(", ").join(sql.SQL("{}::text").format(sql.Identifier(name)) for name in columns)
    query = sql.SQL("SELECT count(*) FROM (SELECT {0} FROM {1} EXCEPT ALL SELECT {0} FROM {2}) AS d")
    if changed := one_number(conn, query.format(values, backup_table(ref), identifier_of(table))):
        raise Terminal(
            "backup.rows_changed",
            f"A trigger of {table} changes {counted(changed, 'row')} during the restore. Nothing was changed.",
            hint="Disable the trigger (ALTER TABLE … DISABLE TRIGGER …), restore, and enable it again.",
        )


def _count(conn: Conn, backup_name: sql.Identifier) -> int:
    return one_number(conn, sql.SQL("SELECT count(*) FROM {}").format(backup_name))


def _list(columns: Collection[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, columns))
