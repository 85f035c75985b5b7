"""The workspace that `tests.bench.pages` measures, with very many pipelines, runs, files and rejected rows.

Run `n` of all has the ID md5('run' || n), belongs to pipeline `p-0001` … in turn, and was requested 8.64 s after the
run before it, within the last hundred days.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from typing import TYPE_CHECKING, Any

from executors.model import Connection
from executors.postgres.client import connect
from executors.postgres.quarantine_table import ensure_quarantine
from executors.table_name import TableName
from tests.bench.seeding import bare_tables, insert_like, took

if TYPE_CHECKING:
    import psycopg
    from django.db.models import Model

    from flowapp.accounts.models import User, Workspace

SLUG = "bench-pages"
EMAIL = "bench@example.org"
PIPELINES, RUNS, FILES, ENTRIES, ALERTS = 1_000, 1_000_000, 100_000, 2_000_000, 20_000
TABLE = TableName("bench_pages", "rejected")
RULES = (("amount-set", "notNull", "amount"), ("note-short", "maxLength", "note"))
AT = f"now() - make_interval(secs => ({RUNS} - n) * 8.64)"
RUN = "md5('run' || n)::uuid"
EVERY_RUN = f"generate_series(1, {RUNS}) AS n"

REJECT = """
INSERT INTO bench_pages.rejected ("pipelineId", "runId", "nodeId", "ruleId", "row", "createdAt", "rowId", field,
    message, severity, disposition, attempt, "targetNode", "sourceFile", "sourceRecord", "rowFrom", status, tenant)
SELECT 'p-' || lpad((1 + n %% 1000)::text, 4, '0'), md5('run' || n)::uuid::text, 'check',
    CASE WHEN i %% 2 = 0 THEN 'amount-set' ELSE 'note-short' END,
    jsonb_build_object('order_id', i, 'amount', NULL, 'note', md5(i::text), 'land', 'DE'),
    now() - make_interval(secs => (%(runs)s - n) * 8.64), md5(i::text || '-'),
    CASE WHEN i %% 2 = 0 THEN 'amount' ELSE 'note' END, 'must not be empty', 'skip', 'dropped', 1, 'load', 'orders.csv',
    i, 'source', CASE WHEN i %% 97 = 3 THEN 'ignored' ELSE 'open' END, %(tenant)s
FROM (
    SELECT i, %(runs)s - 3 * ((%(rows)s - i) * %(runs)s / 3 / %(rows)s) AS n
    FROM generate_series(1::bigint, %(rows)s) AS i
) AS entries"""


def run_id(n: int = RUNS) -> uuid.UUID:
    return uuid.UUID(hashlib.md5(f"run{n}".encode(), usedforsecurity=False).hexdigest())


def document(slug: str) -> dict[str, Any]:
    source = {"path": "in/", "pattern": {"type": "glob", "value": "*.csv"}, "format": {"type": "csv"}}
    amount, note = ({"id": rule, "type": kind, "field": field, "onFail": "skip"} for rule, kind, field in RULES)
    columns = [{"name": "order_id", "type": "integer"}, *({"name": n, "type": "string"} for n in ("amount", "note"))]
    check = {"rowLevel": [amount, {**note, "max": 30}], "quarantine": {"enabled": True, "table": str(TABLE)}}
    to = {"connector": "postgres", "connection": "warehouse", "schema": "public", "table": "orders"}
    return {
        "kind": "pipeline",
        "version": "1.0",
        "id": slug,
        "nodes": [
            {"id": "src", "kind": "source", "connector": "local_fs", "config": source, "columns": columns},
            {"id": "check", "kind": "validate", "inputs": ["src"], **check},
            {"id": "load", "kind": "target", "inputs": ["check"], **to, "loadMode": "append"},
        ],
    }


def make_world(warehouse: Connection) -> Workspace:
    """Fill the empty control database and the quarantine table."""
    from django.db import connection

    from flowapp.accounts.models import Membership, User
    from flowapp.accounts.services import ensure_workspace
    from flowapp.connections.fields import ConnectionFields
    from flowapp.connections.services import add_connection

    workspace = ensure_workspace(SLUG)
    w = warehouse
    add_connection(workspace, "warehouse", ConnectionFields("postgres", w.host, w.port, w.database, w.user, w.password))
    user = User.objects.create_user(EMAIL)
    Membership.objects.create(workspace=workspace, user=user, role="admin")
    connection.ensure_connection()
    conn: psycopg.Connection[Any] = connection.connection
    for name, fill in (
        ("pipelines", _fill_pipelines),
        ("runs", _fill_runs),
        ("totals", _fill_totals),
        ("the rest", _fill_rest),
    ):
        took(name, lambda fill=fill: fill(conn, workspace, user))  # type: ignore[misc]
    took("rejected rows", lambda: _reject(warehouse, str(workspace.pk)))
    conn.execute("VACUUM ANALYZE")
    return workspace


def _fill_pipelines(conn: psycopg.Connection[Any], workspace: Workspace, user: User) -> None:
    from flowapp.pipelines.models import Favourite, Pipeline, PipelineVersion
    from flowapp.pipelines.services import save_version

    first = save_version(workspace, json.dumps(document("p-0001")))
    pipelines, versions, favourites = [], [], []
    for n in range(2, PIPELINES + 1):
        slug = f"p-{n:04}"
        copy = {f.attname: getattr(first.pipeline, f.attname) for f in Pipeline._meta.concrete_fields}
        copy |= {"id": uuid.uuid4(), "slug": slug, "name": f"Orders of shop {n}", "tags": f"\ntag-{n % 20}\n"}
        pipelines.append(pipeline := Pipeline(**copy))
        version = {f.attname: getattr(first, f.attname) for f in PipelineVersion._meta.concrete_fields}
        version |= {"id": uuid.uuid4(), "pipeline_id": pipeline.pk, "document": json.dumps(document(slug))}
        versions.append(PipelineVersion(**version))
        if n % 100 == 0:
            favourites.append(Favourite(pipeline=pipeline, user=user))
    Pipeline.objects.bulk_create(pipelines)
    PipelineVersion.objects.bulk_create(versions)
    Favourite.objects.bulk_create(favourites)
    Pipeline.objects.update(run_counter=RUNS // PIPELINES)


def _fill_runs(conn: psycopg.Connection[Any], workspace: Workspace, user: User) -> None:
    from django.utils import timezone

    from flowapp.runs.models import CommitRecord, NodeRun, RuleCount, Run, RunLog, Trigger
    from flowapp.runs.stored_report import StoredReport

    now, mine = timezone.now(), {"workspace": workspace}
    report = StoredReport(quarantine_entries=2, quarantine_tables=(f"warehouse/{TABLE}",)).to_json()
    conn.execute(
        "CREATE TEMP TABLE numbered AS SELECT p.id AS pipeline, v.id AS version, substr(p.slug, 3)::int - 1 AS place"
        " FROM pipelines_pipeline p JOIN pipelines_pipelineversion v ON v.pipeline_id = p.id"
    )
    run = Run(
        **mine,
        number=0,
        state="",
        trigger=Trigger.SCHEDULE,
        attempt=1,
        evaluated=True,
        queued_at=now,
        due_at=now,
        report=report,
    )
    with bare_tables(conn, [model._meta.db_table for model in (Run, NodeRun, RuleCount, CommitRecord, RunLog)]):
        insert_like(
            conn,
            run,
            f"{EVERY_RUN} JOIN numbered ON place = n % {PIPELINES}",
            id=RUN,
            pipeline="pipeline",
            version="version",
            number=f"1 + (n - 1) / {PIPELINES}",
            state="CASE WHEN n % 50 = 0 THEN 'failed' WHEN n % 3 = 1 THEN 'succeeded_with_warnings'"
            " ELSE 'succeeded' END",
            trigger="CASE WHEN n % 10 = 0 THEN 'manual' ELSE 'schedule' END",
            queued_at=AT,
            due_at=AT,
            started_at=f"{AT} + interval '1 s'",
            ended_at=f"{AT} + make_interval(secs => 2 + n % 60)",
            error_code="CASE WHEN n % 50 = 0 THEN 'file.unreadable' ELSE '' END",
            seconds="1 + n % 60",
            rows_loaded="CASE WHEN n % 50 > 0 THEN n % 5000 END",
            rows_rejected="CASE WHEN n % 3 = 1 THEN 4 ELSE 0 END",
            quarantine_rows="CASE WHEN n % 3 = 1 THEN 4 ELSE 0 END",
        )
        for position, (node, kind) in enumerate((("src", "source"), ("check", "validate"), ("load", "target"))):
            is_target = kind == "target"
            insert_like(
                conn,
                NodeRun(**mine, position=position, node=node, kind=kind, rows_in=4, rows_out=5000),
                EVERY_RUN,
                run=RUN,
                rows_read="n % 5000 + 4" if kind == "source" else "NULL",
                rows_loaded="n % 5000" if is_target else "NULL",
                rows_rejected="CASE WHEN n % 3 = 1 THEN 4 ELSE 0 END" if is_target else "NULL",
            )
        for position, (rule, kind, field) in enumerate(RULES):
            count = RuleCount(
                **mine, position=position, node="check", rule=rule, type=kind, field=field, on_fail="skip", violations=0
            )
            insert_like(conn, count, EVERY_RUN, run=RUN, violations="CASE WHEN n % 3 = 1 THEN 2 ELSE 0 END")
        insert_like(
            conn,
            CommitRecord(**mine, node="load", attempt=1, committed_at=now),
            f"{EVERY_RUN} JOIN numbered ON place = n % {PIPELINES} WHERE n % 50 > 0",
            run=RUN,
            pipeline="pipeline",
            rows_loaded="n % 5000",
            committed_at=AT,
        )
        line = RunLog(**mine, attempt=1, at=now, level="info", message="Loaded the rows.")
        insert_like(conn, line, f"generate_series({RUNS * 7 // 10}, {RUNS}) AS n", run=RUN, at=AT)
        insert_like(conn, line, f"(SELECT {RUNS} AS n FROM generate_series(1, 5000)) AS lines", run=RUN, at=AT)


def _fill_totals(conn: psycopg.Connection[Any], workspace: Workspace, user: User) -> None:
    """Insert the numbers that `quarantine.totals` stores."""
    from django.utils import timezone

    from flowapp.pipelines.models import Pipeline
    from flowapp.quarantine.models import GroupKind, Span, ViolationGroup, ViolationTotal
    from flowapp.quarantine.totals import BLOCK_DAYS, Group

    groups = [Group(GroupKind.PIPELINE)]
    groups += [Group(GroupKind.FIELD, field=field) for _, _, field in RULES]
    groups += [Group(GroupKind.RULE, "check", rule, kind, field, "skip") for rule, kind, field in RULES]
    ViolationGroup.objects.bulk_create(
        ViolationGroup(workspace=workspace, pipeline=pipeline, kind=group.kind, key=group.key, **group.columns)
        for pipeline in Pipeline.objects.all()
        for group in groups
    )
    per_run = "CASE WHEN kind = 'pipeline' THEN 4 ELSE 2 END"
    days = "(queued_at AT TIME ZONE 'UTC')::date"
    for span, starts in (
        (Span.DAY, days),
        (Span.BLOCK, f"{days} - ({days} - date '0001-01-01' + 1) % {BLOCK_DAYS}"),
    ):
        total = ViolationTotal(
            workspace=workspace, span=span, violations=0, runs=0, newest=timezone.now(), starts=timezone.now().date()
        )
        insert_like(
            conn,
            total,
            f"(SELECT pipeline_id, {starts} AS starts, count(*) AS runs, max(queued_at) AS newest FROM runs_run"
            " WHERE rows_rejected > 0 GROUP BY 1, 2) AS days JOIN quarantine_violationgroup g USING (pipeline_id)",
            group="g.id",
            kind="g.kind",
            starts="starts",
            violations=f"runs * {per_run}",
            runs="runs",
            newest="newest",
        )


def _fill_rest(conn: psycopg.Connection[Any], workspace: Workspace, user: User) -> None:
    for model, source, columns in _rest(workspace, user):
        insert_like(conn, model, source, **columns)


def _rest(workspace: Workspace, user: User) -> list[tuple[Model, str, dict[str, str]]]:
    """Files, alerts, messages, backups, decisions, uploads, saved filters and versions."""
    from django.utils import timezone

    from flowapp.alerts.models import Alert
    from flowapp.backups.models import Backup
    from flowapp.channels.models import Channel, Delivery
    from flowapp.lists.models import SavedFilter
    from flowapp.quarantine.models import RowDecision
    from flowapp.runs.load_units.models import LoadUnit, UnitRun
    from flowapp.uploads.models import Upload

    now, mine = timezone.now(), {"workspace": workspace}
    channel = Channel.objects.create(
        **mine, name="ops", kind="webhook", settings={"host": "example.org", "headers": []}, secret=""
    )
    new_id = "gen_random_uuid()"

    def joined(rows: int, first_run: int) -> str:
        step = (RUNS - first_run) // rows
        return (
            f"(SELECT i, {first_run} + i * {step} AS n FROM generate_series(1, {rows}) AS i) AS rows"
            f" JOIN numbered ON place = n % {PIPELINES}"
        )

    return [
        (
            LoadUnit(**mine, node="src", sha256="", name="", size=0, rows=100, state="committed", changed_at=now),
            joined(FILES, 0),
            {
                "id": new_id,
                "pipeline": "pipeline",
                "run": RUN,
                "sha256": "md5('a' || i / 2) || md5('b' || i / 2)",
                "name": "'in/orders-' || i || '.csv'",
                "size": "i % 10000",
                "state": "CASE WHEN i % 100 = 0 THEN 'failed' WHEN i % 7 = 0 THEN 'pending' ELSE 'committed' END",
                "changed_at": AT,
            },
        ),
        (
            UnitRun(**mine, state="committed", at=now),
            "runs_loadunit AS u",
            {"unit": "u.id", "run": "u.run_id", "state": "u.state", "at": "u.changed_at"},
        ),
        (
            Alert(
                **mine,
                kind="run.failed",
                severity="error",
                message="The run failed.",
                next_step="Open the run for details.",
                fingerprint="",
                first_seen_at=now,
                last_seen_at=now,
            ),
            joined(ALERTS, 0),
            {
                "id": "md5('alert' || i)::uuid",
                "pipeline": "pipeline",
                "run_id": RUN,
                "fingerprint": "md5('f' || i)",
                "state": f"CASE WHEN i > {ALERTS - 500} THEN 'open' ELSE 'resolved' END",
                "first_seen_at": AT,
                "last_seen_at": AT,
                "resolved_at": f"CASE WHEN i <= {ALERTS - 500} THEN {AT} END",
            },
        ),
        (
            Delivery(channel=channel, event="opened", state="delivered", made_at=now, due_at=now),
            joined(ALERTS, 0),
            {"key": new_id, "alert": "md5('alert' || i)::uuid", "made_at": AT, "due_at": AT, "ended_at": AT},
        ),
        (
            Backup(**mine, node="load", connection="warehouse", schema="public", table="orders", rows=5, taken_at=now),
            joined(5_000, RUNS - 70_000),
            {"id": new_id, "pipeline": "pipeline", "run": RUN, "taken_at": AT},
        ),
        (
            RowDecision(**mine, action="ignore", at=now, by=user, by_words=EMAIL, rows=5),
            joined(10_000, 0),
            {"pipeline": "pipeline", "at": AT},
        ),
        (
            Upload(**mine, path="", sha256="", size=9, user=user),
            joined(2_000, 0),
            {"id": new_id, "path": "'in/upload-' || i || '.csv'", "sha256": "md5('u' || i) || md5('v' || i)", "at": AT},
        ),
        (
            SavedFilter(**mine, user=user, page="", name="", query="state=failed"),
            "unnest(ARRAY['pipelines', 'runs', 'files', 'errors']) AS page, generate_series(1, 20) AS i",
            {"id": new_id, "page": "page", "name": "'Filter ' || i"},
        ),
    ]


def _reject(warehouse: Connection, tenant: str) -> None:
    with connect(warehouse, autocommit=True) as conn:
        conn.execute("DROP SCHEMA IF EXISTS bench_pages CASCADE")
        ensure_quarantine(conn, str(TABLE))
        with bare_tables(conn, [str(TABLE)]):
            conn.execute(REJECT, {"runs": RUNS, "rows": ENTRIES, "tenant": tenant})
        conn.execute("VACUUM ANALYZE bench_pages.rejected")
        conn.execute("CREATE TABLE IF NOT EXISTS public.orders (order_id int PRIMARY KEY, amount text, note text)")
