"""Files that a run reads again: found in the database, however many rows were rejected."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import psycopg
import pytest
from psycopg import sql

from executors.load_record import LoadCommit, LoadFile, RunRef, TableIdentity
from executors.postgres.client import connect
from executors.postgres.meta import write_commit
from executors.postgres.quarantine import ensure_quarantine
from executors.postgres.read_again import files_read_again, tables_read_before, units_of
from executors.postgres.superseding import supersede_read_again
from executors.rejects import row_id
from executors.table_name import TableName

TENANT = "6f1c1f9e-0000-4000-8000-000000000001"


class CountingCursor(psycopg.Cursor[Any]):
    """Counts the rows that the server sends."""

    rows: ClassVar[list[int]] = []

    def execute(self, *args: Any, **kwargs: Any) -> CountingCursor:
        super().execute(*args, **kwargs)
        self.rows.append(self.pgresult.ntuples if self.pgresult else 0)
        return self


@pytest.fixture
def session(warehouse, conn) -> Iterator[psycopg.Connection]:
    with connect(warehouse, autocommit=True) as counting:
        counting.cursor_factory = CountingCursor
        CountingCursor.rows.clear()
        yield counting


def sha_of(number: int) -> str:
    return f"{number:064x}"


def rejected_before(conn, schema: str, files: int, records: int = 1) -> tuple[RunRef, str]:
    """Return a run and the table with the rows that it has rejected, `records` of each file."""
    run = RunRef(str(uuid.uuid4()), TENANT, f"p_{schema}", "load", 1, 1)
    table = f"{schema}.dlq"
    ensure_quarantine(conn, table)
    conn.execute(
        sql.SQL(
            'INSERT INTO {} (tenant, "pipelineId", "runId", "nodeId", "ruleId", row, "rowId", message, severity,'
            ' disposition, attempt, "targetNode", "rowFrom", "sourceFile", "sourceRecord")'
            " SELECT {tenant}, {pipeline}, {run}, 'check', 'r1', '{{}}', left(encode(sha256(convert_to({run} ||"
            " E'\\nload\\n' || lpad(to_hex(f), 64, '0') || E'\\n' || r, 'UTF8')), 'hex'), 32), 'is empty', 'skip',"
            " 'dropped', 1, 'load', 'source', 'file-' || f, r"
            " FROM generate_series(1, {files}) AS f, generate_series(1, {records}) AS r"
        ).format(
            sql.Identifier(*table.split(".")),
            tenant=TENANT,
            pipeline=run.pipeline,
            run=run.run_id,
            files=files,
            records=records,
        )
    )
    done = tuple(sha_of(number) for number in range(1, files + 1))
    where = TableIdentity(schema, "t", 1)
    write_commit(conn, run, LoadCommit(run.run_id, "load", 1, where, 1, reject_tables=(table,), files_done=done))
    return run, table


def next_run(run: RunRef) -> RunRef:
    return replace(run, run_id=str(uuid.uuid4()), token=2)


def test_the_row_of_the_test_has_the_id_that_runs_give_it(conn, schema):
    run, table = rejected_before(conn, schema, 1)
    stored = conn.execute(f'SELECT "rowId" FROM {table}').fetchone()
    assert stored == (row_id(run.run_id, "load", sha_of(1), 1),)


@pytest.mark.parametrize(
    ("files", "records"),
    [(500, 4), pytest.param(200_000, 1, marks=pytest.mark.slow), pytest.param(10, 20_000, marks=pytest.mark.slow)],
)
def test_no_rejected_row_leaves_the_database(conn, session, schema, files, records):
    run, table = rejected_before(conn, schema, files, records)
    again = [LoadFile(number, f"file-{number}", sha_of(number)) for number in range(1, files + 1)]
    with session.transaction():
        superseded = supersede_read_again(session, next_run(run), again)
    assert (superseded.entries, superseded.tables) == (files * records, (table,))
    assert sum(CountingCursor.rows) == 2, "the name of the table, and whether it can be updated"


def test_files_are_found_by_their_content_under_new_names(conn, schema):
    run, table = rejected_before(conn, schema, 4, 2)
    files = [
        LoadFile(1, "renamed", sha_of(1)),
        LoadFile(2, "file-3", sha_of(2)),
        LoadFile(3, "file-4", sha_of(9)),
        LoadFile(4, "file-2", sha_of(4), is_unit=False),
    ]
    now, units = next_run(run), units_of(files)
    assert tables_read_before(conn, now, units) == (table,)
    found = conn.execute(files_read_again(now, TableName.parse(table), units)).fetchall()
    assert sorted(found) == [
        (run.run_id, "file-1", "", "renamed", ""),
        (run.run_id, "file-2", "", "file-3", ""),
    ]
    with conn.transaction():
        assert supersede_read_again(conn, now, files).entries == 4


def test_other_files_leave_rejected_rows_open(conn, schema):
    run, _ = rejected_before(conn, schema, 2)
    with conn.transaction():
        assert supersede_read_again(conn, next_run(run), [LoadFile(1, "file-1", sha_of(7))]).entries == 0
        assert supersede_read_again(conn, next_run(run), []).entries == 0
