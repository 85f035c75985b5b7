"""Reads rows of PostgreSQL, part by part."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from executors.errors import Failure
from executors.formats.batches import take_trailers
from executors.model import Connection
from executors.reading import Reading
from executors.sources import postgres_blocks
from executors.sources.base import Claimant, SourceContext
from executors.sources.postgres import PostgresSource
from ir.nodes import Source

MILLION = 1_000_000


def source(schema: str, table: str = "s") -> Source:
    config = {"table": {"schema": schema, "name": table}}
    return Source.read({"id": "src", "kind": "source", "connector": "postgres", "connection": "w", "config": config})


def opened(source: Source, connection: Connection, stack: ExitStack) -> PostgresSource:
    """Open the source at its current state."""
    handler = PostgresSource(source, SourceContext(Path(), Claimant("p", frozenset(), "a-run"), connection, 60))
    handler.open(stack)
    return handler


def secret_of(connection: Connection) -> str:
    """Return the password, if the server asks for one."""
    return connection.password or "no password"


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def rows_of(reading: Reading) -> tuple[int, int, set[int]]:
    """Return the number of rows, the number of rows in the trailers, and the record numbers."""
    came = reported = 0
    records: set[int] = set()
    for part in reading.parts:
        for batch in reading.reader.read(part, reading.fields):
            rows, trailers = take_trailers(batch)
            came, reported = came + rows.num_rows, reported + sum(trailers)
            records |= set(rows.column("_flow_record").to_pylist()) if came < 100_000 else set()
    return came, reported, records


@pytest.mark.usefixtures("encryption_keys")
def test_a_million_rows_are_read_in_little_memory(
    conn: psycopg.Connection, schema: str, warehouse: Connection, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_blocks, "SPLIT_BYTES", 1 << 40)
    conn.execute(
        f'create table "{schema}".s as select g as id, md5(g::text) as a, md5((g * 2)::text) as b, g * 1.5 as n,'
        f" now() as at from generate_series(1, {MILLION}) g"
    )
    conn.commit()
    reading = opened(source(schema), warehouse, stack).reading()
    assert len(reading.parts) == 1
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert rows_of(reading)[:2] == (MILLION, MILLION)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 1024


@pytest.mark.usefixtures("encryption_keys")
def test_parts_have_all_rows_once_under_numbers_of_their_own(
    conn: psycopg.Connection, schema: str, warehouse: Connection, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_blocks, "SPLIT_BYTES", 64 << 10)
    conn.execute(f'create table "{schema}".s as select null::int as n from generate_series(1, 20000)')
    conn.execute(f"delete from \"{schema}\".s where ctid >= '(20,0)' and ctid < '(40,0)'")
    conn.commit()
    reading = opened(source(schema), warehouse, stack).reading()
    (left,) = conn.execute(f'select count(*) from "{schema}".s').fetchone() or (0,)
    came, reported, records = rows_of(reading)
    assert len(reading.parts) > 5
    assert came == reported == len(records) == left


PARENTS = {
    "small": "create table {0}.s (n int); create table {0}.c () inherits ({0}.s);"
    " create table {0}.g () inherits ({0}.c);"
    " insert into {0}.s values (null); insert into {0}.c select null from generate_series(1, 20000);"
    " insert into {0}.g select null from generate_series(1, 30000)",
    "large": "create table {0}.s (n int); create table {0}.c () inherits ({0}.s);"
    " insert into {0}.s select null from generate_series(1, 30000);"
    " insert into {0}.c select null from generate_series(1, 20000)",
    "partitioned": "create table {0}.s (n int) partition by list (n);"
    " create table {0}.a partition of {0}.s for values in (1); create table {0}.b partition of {0}.s default;"
    " insert into {0}.s select 1 + g % 2 from generate_series(1, 40000) g",
    "view": "create table {0}.t as select null::int as n from generate_series(1, 40000);"
    " create view {0}.s as select n, ctid, tableoid::int as place from {0}.t",
}


@pytest.mark.usefixtures("encryption_keys")
@pytest.mark.parametrize("made", PARENTS)
def test_rows_of_tables_made_of_others_have_numbers_of_their_own(
    conn: psycopg.Connection,
    schema: str,
    warehouse: Connection,
    stack: ExitStack,
    monkeypatch: pytest.MonkeyPatch,
    made: str,
) -> None:
    monkeypatch.setattr(postgres_blocks, "SPLIT_BYTES", 64 << 10)
    conn.execute(PARENTS[made].format(schema).encode())
    reading = opened(source(schema), warehouse, stack).reading()
    (rows,) = conn.execute(f"select count(*) from {schema}.s".encode()).fetchone() or (0,)
    assert (len(reading.parts) > 5) is (made in ("small", "large"))
    came, reported, records = rows_of(reading)
    assert came == reported == len(records) == rows


@pytest.mark.usefixtures("encryption_keys")
def test_nothing_that_is_sent_to_tasks_contains_a_password(
    conn: psycopg.Connection, schema: str, warehouse: Connection, stack: ExitStack
) -> None:
    conn.execute(f'create table "{schema}".s (id int)')
    conn.commit()
    reading = opened(source(schema), warehouse, stack).reading()
    assert secret_of(warehouse) not in repr(reading)


def test_a_source_that_cannot_be_reached_is_reported_as_one(
    schema: str, warehouse: Connection, stack: ExitStack
) -> None:
    wrong = Connection("w", warehouse.host, warehouse.port, "nowhere", warehouse.user, warehouse.password)
    with pytest.raises(Failure) as stopped:
        opened(source(schema), wrong, stack)
    assert (stopped.value.code, stopped.value.node) == ("source.database_unknown", "src")
    assert secret_of(warehouse) not in str(stopped.value)
