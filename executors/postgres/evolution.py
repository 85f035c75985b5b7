"""Changes the columns of a target in the transaction of a load, as the source has changed them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from psycopg import errors, sql

from executors.errors import Terminal, Transient
from executors.model import Destination
from executors.postgres.ddl import Conn
from executors.postgres.failures import failure_of
from executors.postgres.inspect import inspect_target
from executors.postgres.load_plan import LoadPlan
from executors.postgres.names import identifier_of
from executors.postgres.target import require_usable
from executors.schema_changes import SchemaChange, evolved, still_needed, typed
from executors.table_name import TableName
from executors.widening import keeps_text, rewrites
from ir.diagnostics import listed
from ir.limits import MAX_COLUMNS
from ir.load_modes import load_mode
from ir.nodes.target import Target

LONGEST_TRY = "1s"
"""How long one attempt waits for the lock: readers that come later wait behind it."""

_TABLE = """
SELECT pg_has_role(c.relowner, 'USAGE'), pg_get_userbyid(c.relowner),
       (SELECT count(*) FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s"""

# Dropped columns count towards PostgreSQL's limit, so they are among the columns above. A default of the column itself
# changes with it; constraints, indexes and statistics are built again.
_DEPENDENTS = """
SELECT DISTINCT a.attname, replace(pg_describe_object(d.classid, d.objid, d.objsubid), 'rule _RETURN on ', '')
FROM pg_depend d
JOIN pg_class c ON c.oid = d.refobjid JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.refobjsubid
LEFT JOIN pg_attrdef f ON d.classid = 'pg_attrdef'::regclass AND f.oid = d.objid
WHERE d.refclassid = 'pg_class'::regclass AND n.nspname = %s AND c.relname = %s AND a.attname = ANY(%s)
      AND (d.classid IN ('pg_rewrite'::regclass, 'pg_policy'::regclass, 'pg_trigger'::regclass, 'pg_proc'::regclass,
                         'pg_publication_rel'::regclass)
           OR f.adnum <> a.attnum OR d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.objsubid <> a.attnum)
UNION
SELECT a.attname, CASE WHEN a.attinhcount > 0 THEN 'the table that it is inherited from' ELSE 'the partition key' END
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_partitioned_table p ON p.partrelid = c.oid
WHERE n.nspname = %s AND c.relname = %s AND a.attname = ANY(%s)
      AND (a.attinhcount > 0 OR a.attnum = ANY(p.partattrs::smallint[]))
ORDER BY 1, 2"""


def with_statements(conn: Conn, dest: Destination, changes: Iterable[SchemaChange]) -> tuple[SchemaChange, ...]:
    """Return the changes with the statements that make them, and what they cost."""
    table = TableName(dest.schema, dest.table)
    made = tuple(
        replace(
            change,
            statement=statement_of(table, change).as_string(None),
            rewrites=change.kind == "widen" and rewrites(change.before, change.after),
        )
        if change.alters
        else change
        for change in changes
    )
    if not any(change.rewrites for change in made):
        return made
    with conn.transaction():
        name = identifier_of(table).as_string(conn)
        row = conn.execute("SELECT pg_total_relation_size(to_regclass(%s))", [name]).fetchone()
    size = int(row[0]) if row and row[0] else 0
    return tuple(replace(change, table_bytes=size) if change.rewrites else change for change in made)


def statement_of(table: TableName, change: SchemaChange) -> sql.Composed:
    """Return the statement of a change that alters the table. Its type is one of PostgreSQL's or, with `pg:`, a name
    that `require_possible` has let the database resolve."""
    name = identifier_of(table)
    if change.kind == "add":
        text = sql.SQL("ALTER TABLE {} ADD COLUMN {} {}")
        return text.format(name, sql.Identifier(change.column), sql.SQL(change.after))
    if change.kind == "widen":
        text = sql.SQL("ALTER TABLE {} ALTER COLUMN {} TYPE {}")
        return text.format(name, sql.Identifier(change.column), sql.SQL(change.after))
    text = sql.SQL("ALTER TABLE {} RENAME COLUMN {} TO {}")
    return text.format(name, sql.Identifier(change.before), sql.Identifier(change.after))


def require_possible(conn: Conn, target: Target, dest: Destination, changes: Sequence[SchemaChange]) -> None:
    """Refuse changes that PostgreSQL would refuse, or that would make a later load repeat rows. Raises Terminal
    `schema.not_possible`; for names and types that no column can have, the errors of `create_target`."""
    changes = [change for change in changes if change.alters]
    if not changes:
        return
    require_usable(
        conn, [(change.column, typed(change.after)) for change in changes if change.kind == "add"], target.id
    )
    with conn.transaction():
        found = conn.execute(_TABLE, [dest.schema, dest.table]).fetchone()
        names = [change.column for change in changes if change.kind == "widen"]
        place = [dest.schema, dest.table, names]
        dependents = conn.execute(_DEPENDENTS, [*place, *place]).fetchall()
    is_owner, owner, columns = found or (True, "", 0)
    reasons: list[str] = []
    if not is_owner:
        reasons.append(f"only its owner {owner} may alter it")
    if columns + sum(change.kind == "add" for change in changes) > MAX_COLUMNS:
        reasons.append(f"a table has at most {MAX_COLUMNS:,} columns, dropped ones included")
    by_column: dict[str, list[str]] = {}
    for column, dependent in dependents:
        by_column.setdefault(column, []).append(dependent)
    reasons += [f"{listed(objects)} depends on column {column!r}" for column, objects in by_column.items()]
    reasons += _against_mode(target, dest, changes)
    if reasons:
        raise _not_possible(TableName(dest.schema, dest.table), "; ".join(reasons), changes, target.id)


def _not_possible(table: TableName, reasons: str, changes: Iterable[SchemaChange], node: str) -> Terminal:
    statements = " ".join(f"{change.statement};" for change in changes)
    return Terminal(
        "schema.not_possible",
        f"{table} would have to change with its source, which is not possible: {reasons}. Nothing was loaded.",
        node=node,
        hint=f"Change the table yourself, then run again: {statements}",
    )


def _against_mode(target: Target, dest: Destination, changes: Iterable[SchemaChange]) -> Iterator[str]:
    """Yield what the load mode cannot follow."""
    mode = load_mode(target.load_mode)
    for change in changes:
        if change.kind == "rename" and any(change.before in key for key in dest.unique_keys):
            yield f"{change.before!r} is in a unique key"
        if change.kind == "rename" and target.load_mode == "blue_green":
            yield "blue_green cannot rename a column without blocking readers"
        if change.kind == "rename" and mode.keeps_watermark:
            yield "the rows at the watermark are remembered by the old name"
        if change.kind == "widen" and mode.keeps_watermark:
            if change.column == target.watermark_column:
                yield f"the watermark has the type of {change.column!r}"
            elif not keeps_text(change.before, change.after):
                yield f"the rows at the watermark are remembered by the texts of {change.column!r}, which would change"


def evolve(conn: Conn, plan: LoadPlan, table: TableName | None = None) -> LoadPlan:
    """Make the changes of a load in its transaction, on the table or on the one that will replace it. Return the plan
    without them. Raises Transient `target.altered` if the table has changed since in another way."""
    if not plan.changes:
        return plan
    at = table or plan.target
    if needed := _still_needed(conn, at, plan):
        try:
            _alter(conn, at, needed)
        except errors.DatabaseError as error:
            # What the catalog does not show before, such as a child table or an index whose function has one type only.
            if failure_of(error).code != "target.statement_refused":
                raise
            reason = error.diag.message_primary or ""
            error.args = (f"SQLSTATE {error.sqlstate}",)
            raise _not_possible(plan.target, reason, needed, plan.run.node) from error
    return replace(plan, changes=())


def _still_needed(conn: Conn, table: TableName, plan: LoadPlan) -> list[SchemaChange]:
    """Return the changes that no other load has made meanwhile."""
    dest = inspect_target(conn, table.schema, table.table)
    needed = still_needed(dest, plan.changes) if dest else []
    after = evolved(dest, needed) if dest else plan.dest
    for change in plan.changes:
        now, planned = after.column(change.column), plan.dest.column(change.column)
        if change.alters and (now is None or planned is None or now.declared != planned.declared):
            raise Transient(
                "target.altered",
                f"{plan.target} was altered while its rows were prepared: {change.column!r} is no longer as it was. "
                "Nothing was changed.",
                node=plan.run.node,
                hint="Run again. The columns are then compared anew.",
            )
    return needed


def _alter(conn: Conn, table: TableName, changes: Sequence[SchemaChange]) -> None:
    """Lock the table in short attempts, so that readers do not wait behind a waiting load, and alter it."""
    row = conn.execute("SELECT setting::float / 1000 FROM pg_settings WHERE name = 'lock_timeout'").fetchone()
    give_up = time.monotonic() + (row[0] if row else 0)
    while True:
        try:
            with conn.transaction():
                conn.execute("SELECT set_config('lock_timeout', %s, true)", [LONGEST_TRY])
                conn.execute(sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(identifier_of(table)))
                for change in changes:
                    conn.execute(statement_of(table, change))
                conn.execute("SELECT set_config('lock_timeout', %s, true)", [f"{int((row[0] if row else 0) * 1000)}ms"])
            return
        except errors.LockNotAvailable:
            if time.monotonic() > give_up:
                raise
        # Sleep in the database, so that a cancellation interrupts the pause.
        conn.execute("SELECT pg_sleep(0.2)")
