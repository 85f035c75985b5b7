"""One tick of a scheduler with very many due schedules: its duration, on time and after an hour without a tick.

The CPU seconds, of this process and of its session on PostgreSQL, hardly depend on what else the machine does.

    python -m tests.bench.schedules [--pipelines N] [--sqlite]

The control database is made for the benchmark and deleted.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
import uuid
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from flowapp.cli.control import control_plane
from tests.bench import ENCRYPTION_KEY
from tests.bench.pages_world import document

CRONS = ("*/5 * * * *", "0 * * * *", "0 6 * * *", "0 6 * * 1-5", "0 */2 * * *", "0 6 1 * *")
MONDAY = datetime(2026, 6, 1, 6, tzinfo=ZoneInfo("Europe/Berlin"))
"""All of these schedules are due at this time."""


def fill(pipelines: int) -> None:
    """Make pipelines with different schedules that are due at the same time."""
    from flowapp.accounts.services import ensure_workspace
    from flowapp.connections.fields import ConnectionFields
    from flowapp.connections.services import add_connection
    from flowapp.pipelines.models import Pipeline, PipelineVersion
    from flowapp.pipelines.services import save_version

    workspace = ensure_workspace("bench-schedules")
    add_connection(workspace, "warehouse", ConnectionFields("postgres", "127.0.0.1", 5432, "unused", "unused", ""))
    first = save_version(workspace, json.dumps(document("p-00001")))
    made, versions = [], []
    for n in range(2, pipelines + 1):
        schedule = {"kind": "cron", "expression": CRONS[n % len(CRONS)], "timezone": "Europe/Berlin"}
        copy = {f.attname: getattr(first.pipeline, f.attname) for f in Pipeline._meta.concrete_fields}
        copy |= {"id": uuid.uuid4(), "slug": f"p-{n:05}", "schedule": schedule}
        made.append(Pipeline(**copy))
        version = {f.attname: getattr(first, f.attname) for f in PipelineVersion._meta.concrete_fields}
        versions.append(PipelineVersion(**version | {"id": uuid.uuid4(), "pipeline_id": copy["id"]}))
    Pipeline.objects.bulk_create(made, batch_size=2000)
    PipelineVersion.objects.bulk_create(versions, batch_size=2000)


def server_cpu() -> float:
    """The CPU seconds of this process's session on a PostgreSQL server of this machine."""
    from django.db import connection

    if connection.vendor != "postgresql":
        return 0.0
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        pid = cursor.fetchone()[0]
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(name: str, now: datetime) -> None:
    """Make every pipeline due since `MONDAY`, and run one tick."""
    from django.db import connection

    from flowapp.pipelines.models import Pipeline
    from flowapp.runs.models import Run, State
    from flowapp.runs.schedules import fire_due

    Run.objects.all().delete()
    Pipeline.objects.filter(schedule__isnull=False).update(next_fire_at=MONDAY)
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")
    began, cpu, server = time.perf_counter(), time.process_time(), server_cpu()
    handled = fire_due(now)
    seconds, own = time.perf_counter() - began, time.process_time() - cpu
    server = server_cpu() - server
    queued = Run.objects.filter(state=State.QUEUED).count()
    idle = time.perf_counter()
    fire_due(now)
    idle = time.perf_counter() - idle
    print(
        f"{name}: {handled} due, {queued} queued in {seconds:.2f} s (CPU {own:.2f} s, server {server:.2f} s); "
        f"then idle {idle * 1000:.0f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pipelines", type=int, default=10_000)
    parser.add_argument("--sqlite", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"FLOW_HOME": folder, "FLOW_ENCRYPTION_KEYS": ENCRYPTION_KEY, "FLOW_SECRET_KEY": "bench" * 10}
        if args.sqlite:
            os.environ["FLOW_DATABASE_URL"] = f"sqlite:///{Path(folder) / 'control.db'}"
        with control_plane(migrate=True):
            fill(args.pipelines)
            measure("on time", MONDAY + timedelta(seconds=1))
            measure("on time again", MONDAY + timedelta(seconds=1))
            measure("an hour late", MONDAY + timedelta(hours=1))


if __name__ == "__main__":
    main()
