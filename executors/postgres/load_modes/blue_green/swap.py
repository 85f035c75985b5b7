"""The swap: under the locks of all affected relations, every user of the old table is changed to use the new one."""

from __future__ import annotations

import time

from psycopg import errors, sql

from executors.errors import Terminal, Transient
from executors.postgres.ddl import Conn
from executors.postgres.load_modes.blue_green.clone import (
    advance_sequence,
    build_new,
    force_row_security,
    named_as_target,
    new_table_of,
)
from executors.postgres.load_modes.blue_green.definition import (
    Definition,
    Statements,
    read_definition,
    run,
    search_path,
)
from executors.postgres.load_modes.blue_green.referenced import still_referenced
from executors.postgres.load_plan import LoadPlan, ModeCounts
from executors.postgres.meta import inherit_identity
from executors.postgres.names import identifier_of

SHARE_OF_DEADLOCK_TIMEOUT = 0.7
"""The fraction of deadlock_timeout that an attempt may wait for all its locks, so that the server does not cancel a
session that waits for Flow in a deadlock."""

LONGEST_TRY = 0.7
"""In seconds: new readers queue behind an attempt that waits."""


def swap(conn: Conn, plan: LoadPlan) -> ModeCounts:
    """Build the new table beside the old one, then exchange them."""
    with named_as_target(plan):
        definition = read_definition(conn, plan.target)
        counts = build_new(conn, plan, definition)
        plan.before_swap()
        _exchange_in_time(conn, plan, definition)
    return counts


def _exchange_in_time(conn: Conn, plan: LoadPlan, definition: Definition) -> None:
    """Try until the load's lock timeout has passed. A failed attempt releases its locks."""
    patience, deadlock = _seconds(conn, "lock_timeout"), _seconds(conn, "deadlock_timeout")
    longest = min(deadlock * SHARE_OF_DEADLOCK_TIMEOUT, LONGEST_TRY)
    give_up, pause = time.monotonic() + patience, 0.05
    while True:
        try:
            with conn.transaction():
                _exchange(conn, plan, definition, time.monotonic() + longest)
                _set_lock_timeout(conn, patience)
            return
        except errors.LockNotAvailable:
            if time.monotonic() + pause > give_up:
                raise
        # Sleep in the database, so that a cancellation interrupts the pause.
        conn.execute("SELECT pg_sleep(%s)", [pause])
        pause = min(pause * 1.5, 1.0)


def _seconds(conn: Conn, setting: str) -> float:
    row = conn.execute("SELECT setting::float / 1000 FROM pg_settings WHERE name = %s", [setting]).fetchone()
    return float(row[0]) if row else 0.0


def _set_lock_timeout(conn: Conn, seconds: float) -> None:
    conn.execute("SELECT set_config('lock_timeout', %s, true)", [f"{max(int(seconds * 1000), 1)}ms"])


def _exchange(conn: Conn, plan: LoadPlan, definition: Definition, deadline: float) -> None:
    _lock(conn, definition.locks, deadline)
    _require_unchanged(conn, plan, definition)
    _lock(conn, definition.release, deadline)
    _rewire(conn, plan, definition)
    for identity in definition.identities:
        advance_sequence(conn, plan, identity)
    _drop_old(conn, plan)
    _move(conn, plan, definition)
    force_row_security(conn, plan.target, definition, "FORCE")
    inherit_identity(conn, definition.oid, plan.target.schema, plan.target.table)


def _lock(conn: Conn, statements: Statements, deadline: float) -> None:
    """Run statements that wait for locks, all of them within the deadline."""
    for statement in statements:
        _set_lock_timeout(conn, deadline - time.monotonic())
        run(conn, (statement,))


def _require_unchanged(conn: Conn, plan: LoadPlan, definition: Definition) -> None:
    """Raise if the table was altered while the new table was built: the changes would be lost with the old table."""
    if read_definition(conn, plan.target) != definition:
        raise Transient(
            "target.altered",
            f"{plan.target}, or what depends on it, was altered while its new rows were prepared. Nothing was changed.",
            hint="Run again. The new table is then created like the altered one.",
        )


def _rewire(conn: Conn, plan: LoadPlan, definition: Definition) -> None:
    """Make views, rules and foreign keys of other relations use the new table, and validate its own foreign keys."""
    new = new_table_of(plan)
    try:
        with search_path(conn, new.schema, plan.target.schema):
            run(conn, definition.rewiring)
    except errors.ForeignKeyViolation as error:
        if error.diag.schema_name == new.schema:
            raise
        raise still_referenced(plan.target, plan.run.node, error) from error


def _drop_old(conn: Conn, plan: LoadPlan) -> None:
    """Drop the old table without CASCADE, because remaining dependents are not Flow's."""
    try:
        conn.execute(sql.SQL("DROP TABLE {}").format(identifier_of(plan.target)))
    except errors.DependentObjectsStillExist as error:
        raise Terminal(
            "blue_green.not_possible",
            f"A swap of tables would not carry over all that depends on {plan.target}: {error.diag.message_detail}",
            hint="Change these objects, or use load mode truncate or upsert.",
        ) from error


def _move(conn: Conn, plan: LoadPlan, definition: Definition) -> None:
    """Move the new table to the schema of the old one. Indexes and sequences move with it, statistics do not."""
    new, target = new_table_of(plan), plan.target
    move = sql.SQL("ALTER {} {} SET SCHEMA {}")
    conn.execute(move.format(sql.SQL("TABLE"), identifier_of(new), sql.Identifier(target.schema)))
    for schema, name in definition.statistics:
        made = sql.Identifier(new.schema, name)
        conn.execute(move.format(sql.SQL("STATISTICS"), made, sql.Identifier(schema)))
    for serial in definition.serials:
        conn.execute(
            sql.SQL("ALTER SEQUENCE {} OWNED BY {}").format(
                sql.Identifier(target.schema, serial.sequence),
                sql.Identifier(target.schema, target.table, serial.column),
            )
        )
    conn.execute(sql.SQL("DROP SCHEMA {}").format(sql.Identifier(new.schema)))
