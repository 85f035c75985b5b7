"""A session on the warehouse, and loads of given rows."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from executors.load_record import LoadCounts
from executors.model import Connection, SourceField, StageColumn
from executors.postgres.client import connect
from executors.postgres.copy import StageWriter
from executors.postgres.fences import raise_fence
from executors.postgres.inspect import inspect_target
from executors.postgres.load import LoadFile, LoadPlan, RunRef, commit_load
from executors.postgres.meta import ensure_meta
from executors.postgres.staging import StagingTables, create_staging, drop_staging, staging_tables
from executors.rejects import REJECT_SCHEMA, row_id
from executors.stage_plan import plan_stage_columns
from executors.types import wire_type
from ir.nodes.target import Target
from ir.types import ColumnType
from tests.roles import new_role

TENANT = "6f1c1f9e-0000-4000-8000-000000000001"


@pytest.fixture
def conn(warehouse: Connection) -> Iterator[psycopg.Connection]:
    with connect(warehouse, autocommit=True) as session:
        ensure_meta(session)
        yield session


def target_node(schema: str, table: str, mode: str = "append", **fields: Any) -> Target:
    return Target(
        id="load",
        kind="target",
        inputs=["in"],
        connector="postgres",
        connection="warehouse",
        schema=schema,
        table=table,
        load_mode=mode,
        **fields,
    )


def working(*columns: str) -> tuple[SourceField, ...]:
    """`working("id integer", "name")`: columns without a type are text."""
    parts = [(*c.split(" ", 1), "string")[:2] for c in columns]
    return tuple(SourceField(name, ColumnType.parse(kind)) for name, kind in parts)


def good_schema(columns: Sequence[StageColumn]) -> pa.Schema:
    fields = [pa.field(c.name, wire_type(c.type).arrow) for c in columns]
    return pa.schema([pa.field("_flow_file", pa.int32()), pa.field("_flow_record", pa.int64()), *fields])


def good_batch(
    columns: Sequence[StageColumn], rows: Sequence[Sequence[Any]], file: int = 0, first: int = 1
) -> pa.RecordBatch:
    """`rows` hold the values of the stage columns in order; records are numbered from `first`."""
    schema = good_schema(columns)
    values = [
        [file] * len(rows),
        range(first, first + len(rows)),
        *([row[i] for row in rows] for i in range(len(columns))),
    ]
    return pa.record_batch([pa.array(v, f.type) for v, f in zip(values, schema, strict=True)], schema=schema)


@dataclass
class Loading:
    """One load in progress: a target node, its stage columns, and the results of the tasks so far."""

    connection: Connection
    conn: psycopg.Connection
    target: Target
    columns: tuple[StageColumn, ...]
    tables: StagingTables
    run: RunRef
    winners: list[int] = field(default_factory=list)
    staged: int = 0
    rejected: int = 0
    files: tuple[LoadFile, ...] = (LoadFile(0, "rows.csv", "a" * 64),)

    def stage(
        self, rows: Sequence[Sequence[Any]], *, task: int = 1, wins: bool = True, file: int = 0, first: int = 1
    ) -> None:
        with StageWriter(self.connection, self.tables, good_schema(self.columns), task) as writer:
            writer.write_good(good_batch(self.columns, rows, file, first))
            writer.commit()
        if wins:
            self.winners.append(task)
            self.staged += len(rows)

    def reject(self, *entries: Mapping[str, Any], task: int = 2, wins: bool = True) -> None:
        """Write entries of the reject stage. Missing fields have defaults."""
        rows = [self._entry(e) for e in entries]
        with StageWriter(self.connection, self.tables, good_schema(self.columns), task) as writer:
            writer.write_rejects(pa.RecordBatch.from_pylist(rows, schema=REJECT_SCHEMA))
            writer.commit()
        if wins:
            self.winners.append(task)
            self.rejected += len({r["row_id"] for r in rows if r["disposition"] == "dropped"})

    def _entry(self, given: Mapping[str, Any]) -> dict[str, Any]:
        record = given.get("record", 1)
        known = {
            "file": 0,
            "record": record,
            "row_id": row_id(self.run.run_id, self.run.node, "a" * 64, record),
            "node": "check",
            "rule_id": "r1",
            "field": "id",
            "message": "is empty",
            "severity": "skip",
            "disposition": "dropped",
            "row": '{"id": ""}',
            "row_from": "source",
            "source_file": "rows.csv",
            "source_node": "src",
        }
        return {**known, **given}

    def plan(self, **changes: Any) -> LoadPlan:
        dest = inspect_target(self.conn, self.target.schema_, self.target.table)
        assert dest is not None
        made = LoadPlan(
            self.run,
            dest,
            self.columns,
            self.tables,
            self.winners,
            self.staged,
            self.rejected,
            self.target.load_mode,
            tuple(self.target.upsert_key or ()),
            files=self.files,
        )
        return replace(made, **changes)

    def commit(self, **changes: Any) -> LoadCounts:
        return commit_load(self.conn, self.plan(**changes))


Loader = Callable[..., Loading]


@pytest.fixture
def loading(warehouse: Connection, conn: psycopg.Connection, schema: str) -> Iterator[Loader]:
    """`loading("t", "id integer", "name", mode=…)` plans a load of an existing table and makes its staging."""
    made: list[StagingTables] = []

    def start(
        table: str,
        *columns: str,
        mode: str = "append",
        run_id: str = "",
        attempt: int = 1,
        token: int = 1,
        pipeline: str = "",
        **fields: Any,
    ) -> Loading:
        target = target_node(schema, table, mode, **fields)
        dest = inspect_target(conn, schema, table)
        assert dest is not None
        run = RunRef(run_id or str(uuid.uuid4()), TENANT, pipeline or f"p-{schema}", "load", attempt, token)
        raise_fence(conn, run.tenant, run.pipeline, run.node, run.token)
        stage_columns = plan_stage_columns(target, working(*columns), dest)
        tables = staging_tables(run.run_id, run.node, attempt)
        create_staging(conn, tables, stage_columns)
        made.append(tables)
        return Loading(warehouse, conn, target, stage_columns, tables, run)

    yield start
    for tables in made:
        drop_staging(conn, tables)


@pytest.fixture
def make(conn: psycopg.Connection, schema: str) -> Callable[[str], None]:
    """Run DDL with the test's schema as the search path: `make("CREATE TABLE t (id int)")`."""

    def run(statement: str) -> None:
        with conn.transaction():
            conn.execute(f'SET LOCAL search_path = "{schema}"')
            conn.execute(statement)

    return run


@pytest.fixture
def rows(conn: psycopg.Connection, schema: str) -> Callable[[str], list[tuple[Any, ...]]]:
    """Rows of a query with the test's schema as the search path."""

    def fetch(query: str) -> list[tuple[Any, ...]]:
        with conn.transaction():
            conn.execute(f'SET LOCAL search_path = "{schema}"')
            return conn.execute(query).fetchall()

    return fetch


@pytest.fixture
def other_role(server: Connection, warehouse: Connection, schema: str) -> Iterator[str]:
    """A role of another user, who may use the test's schema."""
    name = f"other_{schema}"
    with connect(replace(server, database=warehouse.database), autocommit=True) as admin, new_role(admin, name):
        admin.execute(f"GRANT USAGE, CREATE ON SCHEMA {schema} TO {name}")
        yield name


@pytest.fixture
def admin(server: Connection, warehouse: Connection, schema: str) -> Iterator[Callable[[str], None]]:
    """Run a statement as the server's own user, with the test's schema as the search path."""
    with connect(replace(server, database=warehouse.database), autocommit=True) as session:
        session.execute(f'SET search_path = "{schema}"')
        yield lambda statement: session.execute(statement.encode())


@pytest.fixture
def superuser(server: Connection) -> None:
    """The server's superuser. Tests that use it need more than the right to create databases and roles."""
    with connect(server) as session:
        if session.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone() != (True,):
            pytest.skip("only a superuser may do this, and the server's user is none")
