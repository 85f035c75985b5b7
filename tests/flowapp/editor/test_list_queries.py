"""The lists of pipelines and runs are read by index among 1,000 pipelines and 100,000 runs."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from flowapp.pipelines.models import Pipeline, PipelineVersion
from flowapp.runs.models import NodeRun, Run

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

RUNS_ASKED = ("", "sort=loaded", "sort=-duration", "state=failed", "trigger=manual", "pipeline=p0100")

RUNS = f"""
INSERT INTO {Run._meta.db_table} ({{columns}})
SELECT {{values}} FROM generate_series(2, 100) AS n, {Run._meta.db_table} AS r
"""
NODES = f"""
INSERT INTO {NodeRun._meta.db_table} (workspace_id, run_id, position, node, kind, rows_in, rows_out, rows_loaded,
                                      rows_rejected, duration_ms, joins, branches)
SELECT workspace_id, id, x, 'n' || x, CASE x WHEN 2 THEN 'target' ELSE 'source' END, 0, 0, number, 2, 5, '[]', '[]'
FROM {Run._meta.db_table}, generate_series(0, 2) AS x
"""


@pytest.fixture
def many(workspace):
    """A run of each pipeline, copied by the database."""
    if connection.vendor != "postgresql":
        pytest.skip("The rows are made by PostgreSQL.")
    pipelines = Pipeline.objects.bulk_create(
        Pipeline(workspace=workspace, slug=f"p{i:04}", latest_number=1, target=f"public.t{i}", tags="\ndemo\n")
        for i in range(1000)
    )
    versions = PipelineVersion.objects.bulk_create(
        PipelineVersion(workspace=workspace, pipeline=p, number=1, document="{}", sha256="") for p in pipelines
    )
    now = timezone.now()
    Run.objects.bulk_create(
        Run(
            workspace=workspace,
            pipeline=v.pipeline,
            version=v,
            number=1,
            trigger="api",
            queued_at=now,
            due_at=now,
            started_at=now,
            ended_at=now,
            state="succeeded",
        )
        for v in versions
    )
    copied = {field.column: f"r.{field.column}" for field in Run._meta.concrete_fields}
    copied |= {"id": "gen_random_uuid()", "number": "n", "queued_at": "r.queued_at - n * interval '1 hour'"}
    with connection.cursor() as cursor:
        cursor.execute(RUNS.format(columns=", ".join(copied), values=", ".join(copied.values())))
        cursor.execute(NODES)
        cursor.execute("ANALYZE")


def test_no_order_of_the_runs_reads_all_of_them(web, workspace, many):
    for query in RUNS_ASKED:
        assert_read_by_index(web, f"{reverse('runs:list', args=[workspace.slug])}?{query}")


def test_no_query_reads_all_runs_or_nodes(web, workspace, many):
    assert_read_by_index(web, reverse("pipelines:list", args=[workspace.slug]))


def assert_read_by_index(web, address: str) -> None:
    with CaptureQueriesContext(connection) as seen:
        web.get(address)
    with connection.cursor() as cursor:
        for query in seen.captured_queries:
            if query["sql"].startswith("SELECT"):
                cursor.execute(f"EXPLAIN {query['sql']}")
                plan = "\n".join(line for (line,) in cursor.fetchall())
                assert f"Seq Scan on {Run._meta.db_table}" not in plan, plan
                assert f"Seq Scan on {NodeRun._meta.db_table}" not in plan, plan
