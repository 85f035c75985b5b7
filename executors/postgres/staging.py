"""Staging tables: one pair (good rows, rejected rows) per run, target node and attempt, in `flow_staging`.

They are created from the very types that are sent, so that a binary COPY never meets a column of another type.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
from psycopg import errors, sql

from executors.errors import Transient
from executors.model import StageColumn
from executors.postgres.client import translate
from executors.postgres.ddl import Conn, create_table, ddl
from executors.postgres.meta import STAGING
from executors.rejects import REJECT_SCHEMA
from executors.types import travel_of

TASK, FILE, RECORD = "_flow_task", "_flow_file", "_flow_record"
HIDDEN = {TASK: "bigint", FILE: "integer", RECORD: "bigint"}
"""Columns that every staging row carries beside its values: Spark's taskAttemptId, file (place in the source's
order) and record number."""

_SQL_TYPES = {pa.int32(): "integer", pa.int64(): "bigint", pa.string(): "text"}
_REJECT_COLUMNS = {TASK: "bigint", **{f.name: _SQL_TYPES[f.type] for f in REJECT_SCHEMA}}


@dataclass(frozen=True, slots=True)
class StagingTables:
    """Names of one pair of tables in `flow_staging`, and whose they are."""

    good: str
    rejects: str
    run_id: str = ""
    node: str = ""
    attempt: int = 0

    @property
    def good_identifier(self) -> sql.Identifier:
        return sql.Identifier(STAGING, self.good)

    @property
    def stand_in(self) -> str:
        """The name of the table that stands in for a target that is still to be made, where nothing may be loaded."""
        return self.good.removesuffix("_good") + "_target"

    @property
    def owner(self) -> str:
        """For the comments of the tables, by which leftovers are told from tables in use."""
        return json.dumps({"run": self.run_id, "node": self.node, "attempt": self.attempt})

    @property
    def rejects_identifier(self) -> sql.Identifier:
        return sql.Identifier(STAGING, self.rejects)


def staging_tables(run_id: str, node: str, attempt: int) -> StagingTables:
    """Names within 63 bytes, the same for the same arguments and no others."""
    digest = hashlib.sha256(json.dumps([run_id, node, attempt]).encode()).hexdigest()[:32]
    return StagingTables(f"s_{digest}_good", f"s_{digest}_rejects", run_id, node, attempt)


@translate()
def create_staging(conn: Conn, tables: StagingTables, stage_columns: Sequence[StageColumn]) -> None:
    """Create the pair, empty. What a crashed worker left under the same names is replaced."""
    good = {**HIDDEN, **{c.name: travel_of(c.type).staged for c in stage_columns}}
    with ddl(conn):
        for name, columns in ((tables.good_identifier, good), (tables.rejects_identifier, _REJECT_COLUMNS)):
            conn.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(name))
            create_table(conn, name, _columns(columns), unlogged=True)
            conn.execute(sql.SQL("COMMENT ON TABLE {} IS {}").format(name, sql.Literal(tables.owner)))


def _columns(columns: dict[str, str]) -> sql.Composed:
    return sql.SQL(", ").join(sql.SQL("{} {}").format(sql.Identifier(n), sql.SQL(t)) for n, t in columns.items())


@translate()
def drop_staging(conn: Conn, tables: StagingTables) -> None:
    """Drop the pair, if it is there."""
    with ddl(conn):
        for name in (tables.good_identifier, tables.rejects_identifier):
            conn.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(name))


@translate()
def is_there(conn: Conn, tables: StagingTables) -> bool:
    """Whether the pair still exists, with whatever rows."""
    names = [f"{STAGING}.{name}" for name in (tables.good, tables.rejects)]
    with conn.transaction():
        row = conn.execute("SELECT bool_and(to_regclass(t) IS NOT NULL) FROM unnest(%s::text[]) AS t", [names])
        found = row.fetchone()
    return bool(found and found[0])


@translate()
def count_staged(conn: Conn, tables: StagingTables, winners: Sequence[int]) -> tuple[int, int]:
    """Rows of the winning tasks: (staged, rejected). A rejected row counts once, however many rules it broke."""
    with conn.transaction():
        return count_good(conn, tables, winners), count_rejected(conn, tables, winners)


def require_staging(
    conn: Conn, tables: StagingTables, winners: Sequence[int], staged: int, rejected: int, node: str
) -> None:
    """Staging is UNLOGGED and emptied by a server crash without an error: what the tasks reported must be there."""
    found = count_good(conn, tables, winners), count_rejected(conn, tables, winners)
    if found != (staged, rejected):
        raise Transient(
            "staging.lost",
            f"Staging holds {found[0]:,} rows and {found[1]:,} rejected ones; the tasks reported {staged:,} and "
            f"{rejected:,}.",
            node=node,
            hint="The database server has probably restarted; the source is read again.",
        )


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


def is_winner(winners: Sequence[int], row: str) -> sql.Composed:
    """A condition: the staging row `row` was written by one of the winning task attempts."""
    return sql.SQL("{}.{} = ANY({}::bigint[])").format(
        sql.Identifier(row), sql.Identifier(TASK), sql.Literal(list(winners))
    )


def one_number(conn: Conn, query: sql.Composed) -> int:
    row = conn.execute(query).fetchone()
    return int(row[0]) if row and row[0] is not None else 0


@translate()
def sweep_leftovers(conn: Conn, is_dead: Callable[[str, int], bool]) -> list[str]:
    """Drop staging tables whose `(run id, attempt)` is dead; returns the names of those dropped.

    Several Flows may share one target database, so `is_dead` must say no to a run that it does not know. A table that
    a late task still writes to is left for the next sweep.
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
            conn.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(sql.Identifier(STAGING, name)))
    except errors.LockNotAvailable:
        return False
    return True
