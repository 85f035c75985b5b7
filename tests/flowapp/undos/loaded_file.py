"""A file that a pipeline has loaded, made without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import psycopg
import pytest
from django.utils import timezone
from psycopg import sql

from executors.load_record import LoadCommit, LoadCounts, RunRef, TableIdentity
from executors.model import Connection, SourceFile
from executors.postgres.client import connect
from executors.postgres.meta import ensure_meta, write_commit
from flowapp.pipelines.models import Pipeline
from flowapp.runs.load_units.models import LoadUnit
from flowapp.runs.load_units.services import claim_units, finish_units
from flowapp.runs.models import CommitRecord, Run, State, Trigger
from flowapp.runs.services import queue_run

SHA = "a" * 64


@pytest.fixture
def conn(warehouse: Connection, schema: str) -> Iterator[psycopg.Connection]:
    with connect(warehouse, autocommit=True) as session:
        ensure_meta(session)
        columns = "id integer, _source_file_hash text, _flow_run uuid"
        session.execute(sql.SQL(f"CREATE TABLE {{}} ({columns})").format(sql.Identifier(schema, "numbers")))
        yield session


@pytest.fixture
def count_rows(conn: psycopg.Connection, schema: str) -> Callable[[], int]:
    query = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(schema, "numbers"))
    return lambda: conn.execute(query).fetchone()[0]


@pytest.fixture
def loaded(conn: psycopg.Connection, schema: str, pipeline: Pipeline) -> LoadUnit:
    """A file of three rows, loaded by run 1."""
    run = queue_run(pipeline, Trigger.MANUAL, send=False)
    Pipeline.objects.filter(pk=pipeline.pk).update(fence_counter=1)
    claim_units(run, "files", {SHA: SourceFile(0, "/in/a.csv", "in/a.csv", 9, 1, records=3)}, 1)
    finish_units(run, [SHA])
    with conn.transaction():
        insert = sql.SQL("INSERT INTO {} SELECT g, %s, %s FROM generate_series(1, 3) AS g")
        conn.execute(insert.format(sql.Identifier(schema, "numbers")), [SHA, run.pk])
        ref = RunRef(str(run.pk), str(run.workspace_id), pipeline.slug, "load", 1, 1)
        table = TableIdentity(schema, "numbers", None)
        counts = LoadCounts(staged=3, inserted=3)
        commit = LoadCommit(ref.run_id, "load", 1, table, 1, load_mode="append", counts=counts, files_done=(SHA,))
        write_commit(conn, ref, commit)
    now = timezone.now()
    Run.objects.filter(pk=run.pk).update(state=State.SUCCEEDED, ended_at=now, token=1)
    CommitRecord.objects.create(
        workspace=run.workspace, pipeline=pipeline, run=run, node="load", attempt=1, token=1, committed_at=now
    )
    return LoadUnit.objects.get()
