"""Staging tables: one pair (good rows, rejected rows) per run, target node and attempt, in `flow_staging`.

They are created with exactly the types that are sent, so that a binary COPY always finds columns of the same type. Each
task writes its good rows to a table of its own, which inherits from the pair's: tasks do not wait for each other, and
their rows stay in the order in which they were read, in which indexes are updated fastest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from psycopg import errors, sql

from executors.errors import Transient
from executors.model import StageColumn
from executors.postgres.client import translate
from executors.postgres.ddl import Conn, body, create_table, ddl
from executors.postgres.meta import STAGING
from executors.rejects import REJECT_SCHEMA
from executors.stage_plan import FILE, HIDDEN, RECORD, TASK
from executors.types import wire_type

_SQL_TYPES = {pa.int32(): "integer", pa.int64(): "bigint", pa.string(): "text"}
_REJECT_COLUMNS = {TASK: "bigint", **{f.name: _SQL_TYPES[f.type] for f in REJECT_SCHEMA}}

# Used instead of a task attempt id, which is never negative in Spark.
REFUSED_TASK = -1
"""Rejects that the target would refuse. Their removal counts like an additional winning task."""
KNOWN_TASK = -2
"""Good rows that are never loaded, because this task is never a winner. Their hashes are still needed."""

ATTACH_WAITS, ATTACHED_IDLES = "30s", "20s"
"""How long a task waits for other tasks that attach, and the shorter time in which it must then commit."""


@dataclass(frozen=True, slots=True)
class StagingTables:
    """The names of one pair of tables in `flow_staging`, and their owner."""

    good: str
    rejects: str
    run_id: str = ""
    node: str = ""
    attempt: int = 0

    @property
    def good_identifier(self) -> sql.Identifier:
        return sql.Identifier(STAGING, self.good)

    @property
    def beside(self) -> sql.Identifier:
        """The table of the changes that are not rows; see `executors.postgres.staged_changes`."""
        return sql.Identifier(STAGING, self.good.removesuffix("_good") + "_beside")

    @property
    def stand_in(self) -> str:
        """The name of the temporary table for a target that does not exist, when nothing may be loaded."""
        return self.good.removesuffix("_good") + "_target"

    @property
    def owner(self) -> str:
        """The comment of the tables, which distinguishes leftovers from tables in use."""
        return json.dumps({"run": self.run_id, "node": self.node, "attempt": self.attempt})

    @property
    def rejects_identifier(self) -> sql.Identifier:
        return sql.Identifier(STAGING, self.rejects)


def count_bytes(conn: Conn, tables: StagingTables) -> int:
    """Return the size of the staged rows, also of those in tables that inherit."""
    name = tables.good_identifier.as_string(conn)
    found = conn.execute(
        "SELECT sum(pg_table_size(c.oid)) FROM pg_class AS c WHERE c.oid = %(name)s::regclass"
        " OR c.oid IN (SELECT i.inhrelid FROM pg_inherits AS i WHERE i.inhparent = %(name)s::regclass)",
        {"name": name},
    ).fetchone()
    return int(found[0] or 0) if found else 0


def staging_tables(run_id: str, node: str, attempt: int) -> StagingTables:
    """Return names within 63 bytes that are unique to these arguments."""
    digest = hashlib.sha256(json.dumps([run_id, node, attempt]).encode()).hexdigest()[:32]
    return StagingTables(f"s_{digest}_good", f"s_{digest}_rejects", run_id, node, attempt)


@translate()
def create_staging(conn: Conn, tables: StagingTables, stage_columns: Sequence[StageColumn]) -> None:
    """Create the empty pair. Tables of a crashed worker with the same names are replaced."""
    good = _in_order({c.name: wire_type(c.type).staged for c in stage_columns})
    with ddl(conn):
        for name, columns in ((tables.good_identifier, good), (tables.rejects_identifier, _REJECT_COLUMNS)):
            _drop(conn, name)
            create_table(conn, name, body(columns), unlogged=True)
            conn.execute(sql.SQL("COMMENT ON TABLE {} IS {}").format(name, sql.Literal(tables.owner)))


def create_task_table(conn: Conn, tables: StagingTables, task: int, columns: Mapping[str, str]) -> sql.Identifier:
    """Create the table of a task's good rows, in the task's own transaction. Other sessions do not see it before
    `attach`.

    `columns` are the names and types that the task sends.
    """
    name = task_table(tables, task)
    create_table(conn, name, body(_in_order(columns, f"bigint DEFAULT {task:d}")), unlogged=True)
    return name


def task_table(tables: StagingTables, task: int) -> sql.Identifier:
    return sql.Identifier(STAGING, f"{tables.good}_{task}")


def attach(conn: Conn, tables: StagingTables, name: sql.Identifier) -> None:
    """Make a task's table part of the pair's good rows. This waits until other attaching tasks have committed, and must
    be followed by a commit at once: the server ends a session that pauses in between, because all others wait for
    it."""
    conn.execute(
        "SELECT set_config('lock_timeout', %s, true), set_config('idle_in_transaction_session_timeout', %s, true)",
        [ATTACH_WAITS, ATTACHED_IDLES],
    )
    conn.execute(sql.SQL("ALTER TABLE {} INHERIT {}").format(name, tables.good_identifier))


def _in_order(columns: Mapping[str, str], task: str = HIDDEN[TASK]) -> dict[str, str]:
    """Return the columns with the task first: every query reads it, and PostgreSQL reads a row only up to the last
    needed column."""
    return {
        TASK: task,
        **{name: kind for name, kind in columns.items() if name not in HIDDEN},
        FILE: HIDDEN[FILE],
        RECORD: HIDDEN[RECORD],
    }


def _drop(conn: Conn, name: sql.Identifier) -> None:
    """Drop a table and the task tables that inherit from it, including the table of a task that is just committing."""
    conn.execute(sql.SQL("DROP TABLE IF EXISTS {} CASCADE").format(name))


@translate()
def list_task_tables(conn: Conn, tables: StagingTables) -> list[sql.Identifier]:
    """Return the tables of tasks that have committed, winners or not."""
    rows = conn.execute(
        "SELECT c.relname FROM pg_inherits i"
        " JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent"
        " WHERE p.relnamespace = to_regnamespace(%s) AND p.relname = %s ORDER BY c.oid",
        [STAGING, tables.good],
    ).fetchall()
    return [sql.Identifier(STAGING, name) for (name,) in rows]


@translate()
def drop_staging(conn: Conn, tables: StagingTables) -> None:
    """Drop the pair if it exists."""
    with ddl(conn):
        for name in (tables.good_identifier, tables.rejects_identifier, tables.beside):
            _drop(conn, name)


@translate()
def is_there(conn: Conn, tables: StagingTables) -> bool:
    """Return whether the pair still exists, with any rows."""
    names = [f"{STAGING}.{name}" for name in (tables.good, tables.rejects)]
    with conn.transaction():
        row = conn.execute("SELECT bool_and(to_regclass(t) IS NOT NULL) FROM unnest(%s::text[]) AS t", [names])
        found = row.fetchone()
    return bool(found and found[0])


def require_staging(
    conn: Conn, tables: StagingTables, winners: Sequence[int], staged: int, rejected: int, node: str
) -> None:
    """Check that staging has the rows that the tasks reported: it is UNLOGGED, so a crash of the server empties it
    without an error."""
    found = count_good(conn, tables, winners)
    if found != staged:
        raise _lost(f"Staging holds {found:,} rows; the tasks reported {staged:,}.", node)
    require_rejected(conn, tables, winners, rejected, node)


def require_rejected(conn: Conn, tables: StagingTables, winners: Sequence[int], rejected: int, node: str) -> None:
    """Check the rejected rows only; part of `require_staging`."""
    found = count_rejected(conn, tables, winners)
    if found != rejected:
        raise _lost(f"Staging holds {found:,} rejected rows; the tasks reported {rejected:,}.", node)


def _lost(message: str, node: str) -> Transient:
    hint = "The database server has probably restarted. The source is read again."
    return Transient("staging.lost", message, node=node, hint=hint)


def count_good(conn: Conn, tables: StagingTables, winners: Sequence[int]) -> int:
    return one_number(
        conn, sql.SQL("SELECT count(*) FROM {} AS s WHERE {}").format(tables.good_identifier, is_winner(winners, "s"))
    )


def count_rejected(conn: Conn, tables: StagingTables, winners: Sequence[int]) -> int:
    return one_number(
        conn,
        sql.SQL("SELECT count(DISTINCT row_id) FROM {} AS r WHERE {} AND disposition = 'dropped'").format(
            tables.rejects_identifier, is_winner(winners, "r")
        ),
    )


@translate()
def count_rejected_by_file(conn: Conn, tables: StagingTables, winners: Sequence[int]) -> dict[int, int]:
    query = sql.SQL("SELECT file, count(DISTINCT record) FROM {} AS r WHERE {} AND disposition = 'dropped' GROUP BY 1")
    with conn.transaction():
        return dict(conn.execute(query.format(tables.rejects_identifier, is_winner(winners, "r"))).fetchall())


def is_winner(winners: Sequence[int], row: str) -> sql.Composed:
    """Return a condition: a winning task attempt wrote the staging row `row`."""
    return sql.SQL("{}.{} = ANY({}::bigint[])").format(
        sql.Identifier(row), sql.Identifier(TASK), sql.Literal(list(winners))
    )


def one_number(conn: Conn, query: sql.Composed) -> int:
    row = conn.execute(query).fetchone()
    return int(row[0]) if row and row[0] is not None else 0


@translate()
def sweep_leftovers(conn: Conn, is_dead: Callable[[str, int], bool]) -> list[str]:
    """Drop staging tables whose `(run id, attempt)` is dead; returns the names of the dropped tables.

    Several installations of Flow may share one target database, so `is_dead` must return False for unknown runs. A
    table that a late task still writes to is left for the next sweep.
    """
    return [name for name, run, attempt in _list_owners(conn) if is_dead(run, attempt) and _drop_now(conn, name)]


def _list_owners(conn: Conn) -> list[tuple[str, str, int]]:
    with conn.transaction():
        rows = conn.execute(
            "SELECT c.relname, obj_description(c.oid, 'pg_class') FROM pg_class c"
            " WHERE c.relnamespace = to_regnamespace(%s) AND c.relkind = 'r' ORDER BY c.relname",
            [STAGING],
        ).fetchall()
    owners = [(name, json.loads(comment)) for name, comment in rows if comment]
    return [(name, owner["run"], owner["attempt"]) for name, owner in owners]


def _drop_now(conn: Conn, name: str) -> bool:
    try:
        with ddl(conn):
            conn.execute("SET LOCAL lock_timeout = '500ms'")
            _drop(conn, sql.Identifier(STAGING, name))
    except errors.LockNotAvailable:
        return False
    return True
