"""A worker as a process of its own that loads chunks without Spark: fence, one transaction with rows and commit marker.

    python -m tests.flowapp.backfills.chunk_worker

It takes the runs of all backfills until it is killed.
"""

from __future__ import annotations

import os
import time

import django
from django.apps import apps

if not apps.ready:
    django.setup()

from django.conf import settings
from psycopg import sql

from executors.api import Ports
from executors.load_record import InputCounts, LoadCommit, LoadCounts, LoadRecord, RunRef, TableIdentity
from executors.model import RunJob
from executors.postgres import meta
from executors.postgres.client import connect, translate
from executors.postgres.fences import raise_fence, require_fence
from executors.report import RunReport
from flowapp.clock import Now
from flowapp.runs.dispatch import execute_claimed
from flowapp.runs.leases import claim_run
from flowapp.runs.models import CLAIMABLE, Run, RunKind

LEASE_SECONDS = 3.0


def load_chunk(job: RunJob, ports: Ports) -> RunReport:
    """Insert a row for each value of the chunk, once."""
    if job.chunk is None:
        return RunReport()
    (target,) = job.pipeline.targets()
    chunk = job.chunk.chunk
    rows = int(chunk.upper or 0) - int(chunk.lower or 0)
    with translate(target.id), connect(job.connections[target.connection], autocommit=True) as connection:
        meta.ensure_meta(connection)
        raise_fence(connection, job.tenant, job.pipeline.id, target.id, job.token, job.chunk.key)
        found = meta.find_commits(connection, job.run_id)
        if not found:
            ports.events.step("load")
            ref = RunRef(
                job.run_id, job.tenant, job.pipeline.id, target.id, job.attempt, job.token, chunk=job.chunk.key
            )
            with connection.transaction():
                require_fence(connection, ref)
                insert = sql.SQL("INSERT INTO {} SELECT generate_series(%s::int, %s::int - 1)")
                table = sql.Identifier(target.schema_, target.table)
                connection.execute(insert.format(table), [chunk.lower, chunk.upper])
                meta.write_commit(connection, ref, _marker(ref, target.schema_, target.table, rows))
            found = meta.find_commits(connection, job.run_id)
        ports.events.committed(found[0])
    return RunReport(nodes=[found[0].node_report])


def _marker(ref: RunRef, schema: str, table: str, rows: int) -> LoadCommit:
    return LoadCommit(
        run_id=ref.run_id,
        node=ref.node,
        attempt=ref.attempt,
        token=ref.token,
        table=TableIdentity(schema, table, None),
        counts=LoadCounts(staged=rows, inserted=rows),
        record=LoadRecord(input=InputCounts(rows_in=rows, rows_read=rows)),
        files_done=(),
    )


def work() -> None:
    settings.LEASE_SECONDS = LEASE_SECONDS
    owner = f"process {os.getpid()}"
    while True:
        due = Run.objects.filter(state__in=CLAIMABLE, due_at__lte=Now()).exclude(kind=RunKind.LOAD)
        for key in due.order_by("queued_at").values_list("pk", flat=True)[:4]:
            if claim := claim_run(key, owner):
                execute_claimed(claim, load_chunk)
                break
        else:
            time.sleep(0.05)


if __name__ == "__main__":
    work()
