"""Replication slots and publications: created, adopted, checked, and dropped."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import psycopg
from psycopg import sql

from executors.errors import Terminal, Transient
from executors.postgres.ddl import Conn
from executors.postgres_cdc.lsn import lsn_text
from executors.postgres_cdc.tables import FollowedTable

_SLOT = """
SELECT slot_type, coalesce(plugin, ''), coalesce(database, ''), temporary, active_pid,
       (confirmed_flush_lsn - '0/0'::pg_lsn)::bigint, coalesce(wal_status, ''), safe_wal_size,
       (SELECT a.application_name FROM pg_stat_activity a WHERE a.pid = s.active_pid)
FROM pg_replication_slots s WHERE slot_name = %s"""

_SERVER = """
SELECT current_setting('wal_level'), current_setting('max_slot_wal_keep_size'), pg_is_in_recovery(), current_database(),
       current_user"""

_POSITION = """
SELECT (pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::bigint,
       ('x' || substr(pg_walfile_name(pg_current_wal_flush_lsn()), 1, 8))::bit(32)::int,
       (SELECT system_identifier::text FROM pg_control_system())"""

_BY_COLUMNS = 150000
"""From this server version on, publications can have lists of columns and conditions on rows."""
_STORES_GENERATED = 180000
_RELEASED_WITHIN = 10.0
"""Seconds in which the server ends a session of ours whose connection is closed."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A replication slot. `confirmed` is the position before which its changes are gone. `status` is `wal_status`,
    `safe_bytes` the number of bytes that can be written before the slot is lost, None without a limit. `reader` is
    the application that reads it now, None if nobody does."""

    name: str
    is_usable: bool
    reader_pid: int | None
    reader: str | None
    confirmed: int
    status: str
    safe_bytes: int | None


@dataclass(frozen=True, slots=True)
class Position:
    """The end of the flushed log, its timeline, and the identifier of the cluster."""

    lsn: int
    timeline: int
    system: str


def require_server(conn: Conn) -> bool:
    """Return whether the server limits what a slot may retain. Raises Terminal `cdc.wal_level` and
    `cdc.standby`."""
    level, limit, is_standby, *_ = conn.execute(_SERVER).fetchone() or ("", "", False)
    if is_standby:
        raise Terminal("cdc.standby", "The server is a standby.", hint="Connect to the primary server.")
    if level != "logical":
        raise Terminal(
            "cdc.wal_level",
            f"The log of the server has the level {level}, which does not contain the changes of rows.",
            hint="Set wal_level = logical and restart the server; on managed servers, enable logical replication. The "
            "bundled PostgreSQL of flow up cannot be followed.",
        )
    return str(limit) != "-1"


def find_position(conn: Conn) -> Position:
    """Return where the log ends now."""
    row = conn.execute(_POSITION).fetchone()
    if row is None:
        raise LookupError("the server has no position")
    return Position(*row)


def find_slot(conn: Conn, name: str) -> Slot | None:
    """Return the slot of this name, if it exists."""
    row = conn.execute(_SLOT, [name]).fetchone()
    if row is None:
        return None
    kind, plugin, database, temporary, pid, confirmed, status, safe, reader = row
    is_usable = kind == "logical" and plugin == "pgoutput" and database == conn.info.dbname and not temporary
    return Slot(name, is_usable, pid, reader, confirmed or 0, status, safe)


def release(conn: Conn, slot: Slot, own: str, check: Callable[[], None]) -> None:
    """Wait until nobody reads the slot. A reader with the name `own` belongs to an earlier attempt of the same source
    node, and is ended, because fences prevent it from loading anything. Raises Transient `cdc.slot_in_use`."""
    deadline = time.monotonic() + _RELEASED_WITHIN
    while slot.reader_pid is not None:
        check()
        if time.monotonic() > deadline:
            raise Transient(
                "cdc.slot_in_use",
                f"The slot {slot.name} is read by process {slot.reader_pid} ({slot.reader or 'unknown'}).",
                hint="End the other reader, or give this source a slot of its own.",
            )
        if slot.reader == own:
            conn.execute("SELECT pg_terminate_backend(%s)", [slot.reader_pid])
        time.sleep(0.1)
        found = find_slot(conn, slot.name)
        if found is None:
            return
        slot = found


def drop_slot(conn: Conn, name: str) -> None:
    """Drop a slot that nobody reads, if it exists."""
    conn.execute("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s", [name])


def drop_publication(conn: Conn, name: str) -> None:
    """Drop a publication, if it exists and belongs to this user: another one may have been created by a person."""
    row = conn.execute(
        "SELECT 1 FROM pg_publication WHERE pubname = %s AND pg_get_userbyid(pubowner) = current_user", [name]
    ).fetchone()
    if row is not None:
        conn.execute(sql.SQL("DROP PUBLICATION IF EXISTS {}").format(sql.Identifier(name)))


def require_continued(slot: Slot | None, name: str, lsn: int) -> Slot:
    """Return the slot if it still has all changes from a position on. Raises Terminal `cdc.slot_missing`,
    `cdc.slot_unfit`, `cdc.slot_lost` and `cdc.log_missing`."""
    again = "Load the table again, with a reason: on the page of the pipeline, or by flow run --load-again."
    if slot is None:
        raise Terminal(
            "cdc.slot_missing",
            f"The replication slot {name} no longer exists, so changes since {lsn_text(lsn)} are lost.",
            hint=again,
        )
    require_usable(slot)
    if slot.status == "lost":
        raise Terminal(
            "cdc.slot_lost",
            f"The server has removed log that the slot {name} needed, because it exceeded max_slot_wal_keep_size: "
            f"changes since {lsn_text(lsn)} are lost.",
            hint=f"{again} Raise max_slot_wal_keep_size, or run more often.",
        )
    if slot.confirmed > lsn:
        raise Terminal(
            "cdc.log_missing",
            f"The slot {name} begins at {lsn_text(slot.confirmed)}, and the target has the changes before "
            f"{lsn_text(lsn)}: those between are lost. The target was restored, or something else has read the slot.",
            hint=again,
        )
    return slot


def require_usable(slot: Slot) -> None:
    """Raise Terminal `cdc.slot_unfit` for a slot of another kind."""
    if not slot.is_usable:
        raise Terminal(
            "cdc.slot_unfit",
            f"The replication slot {slot.name} is no logical slot of this database with the plugin pgoutput.",
            hint="Name another slot, or none, so that Flow creates one.",
        )


def ready_publication(conn: Conn, table: FollowedTable, name: str, *, is_own: bool) -> frozenset[str]:
    """Return the columns that a publication contains of the table. Flow's own publication is created if it is
    missing. Raises Terminal `cdc.publication_missing`, `cdc.publication_unfit` and `cdc.not_allowed`."""
    found = conn.execute(
        "SELECT pubinsert AND pubupdate AND pubdelete AND pubtruncate, pubviaroot FROM pg_publication"
        " WHERE pubname = %s",
        [name],
    ).fetchone()
    if found is None:
        if not is_own:
            raise Terminal(
                "cdc.publication_missing",
                f"The database has no publication {name}.",
                hint=_statement(conn, table, name),
            )
        _create(conn, table, name)
        found = (True, True)
    contents = _contents(conn, table, name)
    if is_own and contents is None:  # the table was dropped and created again
        conn.execute(sql.SQL("DROP PUBLICATION {}").format(sql.Identifier(name)))
        _create(conn, table, name)
        contents = _contents(conn, table, name)
    lacks = _what_lacks(table, found, contents)
    if lacks or contents is None:
        raise Terminal(
            "cdc.publication_unfit",
            f"The publication {name} {lacks or f'does not contain {table}'}.",
            hint=f"Change it, or remove publication from the source. Needed is: {_statement(conn, table, name)}",
        )
    return contents[0]


def _what_lacks(
    table: FollowedTable, found: tuple[bool, bool], contents: tuple[frozenset[str], bool] | None
) -> str | None:
    all_operations, via_root = found
    if not all_operations:
        return "does not contain all of insert, update, delete and truncate"
    if table.is_partitioned and not via_root:
        return "sends changes of partitions under their own names (publish_via_partition_root is off)"
    if contents is None:
        return f"does not contain {table}"
    columns, has_condition = contents
    if has_condition:
        return f"leaves out rows of {table} by a condition"
    missing = [c.relation.name for c in table.columns if c.relation.name not in columns and not c.is_generated]
    return f"leaves out the columns {', '.join(missing)}" if missing else None


def _contents(conn: Conn, table: FollowedTable, name: str) -> tuple[frozenset[str], bool] | None:
    """Return the published columns of the table, and whether a condition leaves out rows."""
    every = frozenset(column.relation.name for column in table.columns)
    key = [name, table.schema, table.name]
    where = "FROM pg_publication_tables WHERE (pubname, schemaname, tablename) = (%s, %s, %s)"
    if conn.info.server_version < _BY_COLUMNS:
        return (every, False) if conn.execute(f"SELECT 1 {where}", key).fetchone() else None
    row = conn.execute(f"SELECT attnames::text[], rowfilter IS NOT NULL {where}", key).fetchone()
    return (frozenset(row[0]), row[1]) if row else None


def _create(conn: Conn, table: FollowedTable, name: str) -> None:
    try:
        conn.execute(_statement(conn, table, name))
    except psycopg.errors.InsufficientPrivilege as error:
        raise Terminal(
            "cdc.not_allowed",
            f"The user {conn.info.user} may not create a publication of {table}: {error.diag.message_primary}.",
            hint=f"As its owner: {_statement(conn, table, name)}",
        ) from None


def _statement(conn: Conn, table: FollowedTable, name: str) -> str:
    options = ["publish = 'insert, update, delete, truncate'", "publish_via_partition_root = true"]
    if conn.info.server_version >= _STORES_GENERATED:
        options.append("publish_generated_columns = stored")
    text = sql.SQL("CREATE PUBLICATION {} FOR TABLE {} WITH ({})").format(
        sql.Identifier(name),
        sql.Identifier(table.schema, table.name),
        sql.SQL(", ".join(options)),
    )
    return text.as_string(conn)
