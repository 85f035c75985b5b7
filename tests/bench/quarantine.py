"""Server time of the pages of rejected rows, in the order in which a user opens them, with very many rows in the table.

    python -m tests.bench.quarantine [--rows N] [--times N]

The rows are made once per machine by one INSERT … SELECT and reused; so are the indexes, which are made as for an
existing table.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from executors.model import Connection
from executors.postgres.client import connect
from executors.postgres.quarantine_table import ensure_quarantine
from executors.table_name import TableName
from flowapp.cli.control import control_plane
from flowapp.embedded.services import Services
from flowapp.embedded.warehouses import ensure_warehouse
from tests.bench.seeding import took

if TYPE_CHECKING:
    from flowapp.accounts.models import Workspace
    from flowapp.runs.models import Run

TABLE = TableName("bench_quarantine", "rejected")
RUNS = 50
RULES = ("frequent", "frequent-too", "type:amount", "text:note", "rare")

# The first run has half of all entries. One entry in a million violates the rare rule; one in 97 is ignored.
MAKE = """
INSERT INTO bench_quarantine.rejected ("pipelineId", "runId", "nodeId", "ruleId", "row", "createdAt", "rowId", field,
    message, severity, disposition, attempt, "targetNode", "sourceFile", "sourceRecord", "rowFrom", status, tenant)
SELECT 'bench-quarantine', (%(runs)s::text[])[CASE WHEN i * 2 <= %(rows)s THEN 1 ELSE 2 + i %% %(others)s END], 'check',
    CASE WHEN i %% 1000000 = 7 THEN 'rare' ELSE (%(rules)s::text[])[1 + i %% 4] END,
    jsonb_build_object('order_id', i, 'amount', (i::bigint * 7919 %% 100003)::text, 'note', md5(i::text), 'land', 'DE'),
    now() - make_interval(mins => ((%(rows)s - i) / 250)::int), md5(i::text || '-'), 'f' || i %% 4, 'must not be empty',
    'skip', 'dropped', 1, 'load', 'orders.csv', i, 'source', CASE WHEN i %% 97 = 3 THEN 'ignored' ELSE 'open' END,
    %(tenant)s
FROM generate_series(1, %(rows)s) AS i"""


def fill(warehouse: Connection, rows: int, tenant: str, runs: list[str]) -> None:
    """Insert entries of these runs, unless the table already has as many."""
    with connect(warehouse, autocommit=True) as conn:
        ensure_quarantine(conn, str(TABLE))
        held = conn.execute(
            "SELECT reltuples, (SELECT tenant::text FROM bench_quarantine.rejected LIMIT 1) FROM pg_class"
            " WHERE oid = 'bench_quarantine.rejected'::regclass"
        ).fetchone()
        if held and abs(held[0] - rows) < rows / 20 and held[1] == tenant:
            return
        conn.execute("DROP TABLE bench_quarantine.rejected")
        ensure_quarantine(conn, str(TABLE))
        found: dict[str, str] = dict(
            conn.execute(
                "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'bench_quarantine'"
                " AND indexname <> 'rejected_pkey'"
            ).fetchall()
        )
        for name in found:
            conn.execute(f'DROP INDEX bench_quarantine."{name}"')
        values = {"runs": runs, "rows": rows, "others": len(runs) - 1, "rules": list(RULES), "tenant": tenant}
        took("INSERT", lambda: conn.execute(MAKE, values))
        for name, definition in found.items():
            took(name, partial(conn.execute, definition))
        took("VACUUM ANALYZE", lambda: conn.execute("VACUUM ANALYZE bench_quarantine.rejected"))


def make_world(warehouse: Connection) -> tuple[Workspace, list[Run]]:
    """Make a workspace with the pipeline and its runs, each with its counts."""
    from django.utils import timezone

    from flowapp.accounts.services import ensure_workspace
    from flowapp.connections.fields import ConnectionFields
    from flowapp.connections.models import Connection as Stored
    from flowapp.connections.services import add_connection
    from flowapp.pipelines.services import save_version
    from flowapp.runs.models import RuleCount, Run, Trigger
    from flowapp.runs.services import queue_run

    workspace = ensure_workspace("bench-quarantine")
    w = warehouse
    Stored.objects.filter(workspace=workspace).delete()
    add_connection(workspace, "warehouse", ConnectionFields("postgres", w.host, w.port, w.database, w.user, w.password))
    pipeline = save_version(workspace, json.dumps(_document())).pipeline
    missing = RUNS - Run.objects.filter(pipeline=pipeline).count()
    for number in range(missing):
        run = queue_run(pipeline, Trigger.CLI, send=False)
        Run.objects.filter(pk=run.pk).update(
            state="succeeded_with_warnings", attempt=1, queued_at=timezone.now() - timedelta(hours=number * 12)
        )
        RuleCount.objects.bulk_create(
            RuleCount(
                workspace=workspace,
                run=run,
                position=place,
                node="check",
                rule=rule,
                type="notNull",
                field=f"f{place}",
                on_fail="skip",
                violations=1000,
            )
            for place, rule in enumerate(RULES)
        )
    return workspace, list(Run.objects.filter(pipeline=pipeline).order_by("number")[:RUNS])


def _document() -> dict[str, Any]:
    source = {"path": "in/", "pattern": {"type": "glob", "value": "*.csv"}, "format": {"type": "csv"}}
    return {
        "kind": "pipeline",
        "version": "1.0",
        "id": "bench-quarantine",
        "nodes": [
            {"id": "src", "kind": "source", "connector": "local_fs", "config": source},
            {
                "id": "check",
                "kind": "validate",
                "inputs": ["src"],
                "rowLevel": [],
                "quarantine": {"enabled": True, "table": str(TABLE)},
            },
            {
                "id": "load",
                "kind": "target",
                "inputs": ["check"],
                "connector": "postgres",
                "connection": "warehouse",
                "schema": "public",
                "table": "orders",
                "loadMode": "append",
            },
        ],
    }


def measure(workspace: Workspace, runs: list[Run], rows: int, times: int) -> None:
    """Print the median and the 95th percentile of the server time of each page, and of all pages together."""
    from django.test import Client

    from flowapp.accounts.models import Membership, User
    from flowapp.quarantine.selectors import page_entries

    user, _ = User.objects.get_or_create(email="bench@example.org")
    Membership.objects.get_or_create(workspace=workspace, user=user, defaults={"role": "editor"})
    client = Client(headers={"host": "localhost"})
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    base, big, small = "/w/bench-quarantine/errors/", runs[0].pk, runs[-1].pk
    entry = page_entries(workspace, run=runs[-1], limit=1).entries[0]
    deep = page_entries(workspace, pipeline=runs[0].pipeline, limit=500)
    for _ in range(5):
        deep = page_entries(workspace, pipeline=runs[0].pipeline, cursor=deep.next, limit=500)
    day = f"day={runs[3].queued_at:%Y-%m-%d}"
    pages = {
        "landing page, 30 days": base,
        "rows of the pipeline": "rows/?pipeline=bench-quarantine",
        "rows of the pipeline, deep": f"rows/?pipeline=bench-quarantine&cursor={deep.next}",
        "of a run with half of all": f"rows/?run={big}",
        "of a small run": f"rows/?run={small}",
        "of a rule": "rows/?pipeline=bench-quarantine&rule=frequent",
        "of a rare rule": "rows/?pipeline=bench-quarantine&rule=rare",
        "of a rare rule in a small run": f"rows/?run={small}&rule=rare",
        "of a field": "rows/?pipeline=bench-quarantine&field=f2",
        "ignored": "rows/?pipeline=bench-quarantine&status=ignored",
        "fixed, of which there are none": "rows/?pipeline=bench-quarantine&status=fixed",
        "of a run, a rule and a status": f"rows/?run={big}&rule=frequent&status=ignored",
        "of a rule and its field": "rows/?pipeline=bench-quarantine&rule=frequent&field=f0",
        "of a rule and another's field": "rows/?pipeline=bench-quarantine&rule=frequent&field=f2",
        "of a rule on a day": f"rows/?pipeline=bench-quarantine&rule=frequent&{day}",
        "of a field on a day": f"rows/?pipeline=bench-quarantine&field=f2&{day}",
        "of all of these": f"rows/?pipeline=bench-quarantine&rule=frequent&field=f0&status=ignored&{day}",
        "of a day": f"rows/?pipeline=bench-quarantine&{day}",
        "a row in full": f"rows/{entry['runId']}/{entry['rowId']}/",
    }
    every: list[float] = []
    print(f"{rows:,} entries, {times} times each", flush=True)
    for what, address in pages.items():
        address = address if address.startswith("/") else base + address
        every += (taken := _time(client, address, times))
        print(f"{what:<40} median {_ms(statistics.median(taken))}  p95 {_ms(_p95(taken))}   aim ≤ 100 ms", flush=True)
    print(
        f"{'all of them':<40} median {_ms(statistics.median(every))}  p95 {_ms(_p95(every))}   aim ≤ 100 ms", flush=True
    )
    for what, text in (("a search that finds a page", "DE"), ("a search that finds nothing", "nowhere at all")):
        taken = _time(client, f"{base}rows/?pipeline=bench-quarantine&search={text}", max(3, times // 10))
        print(f"{what:<40} median {_ms(statistics.median(taken))}  (bounded: 100,000 entries)", flush=True)


def _time(client: Any, address: str, times: int) -> list[float]:
    taken = []
    for number in range(times + 1):
        start = time.perf_counter()
        answer = client.get(address)
        if answer.status_code != 200:
            raise AssertionError(f"{address}: {answer.status_code}")
        if number:
            taken.append(time.perf_counter() - start)
    return taken


def _p95(taken: list[float]) -> float:
    return sorted(taken)[int(len(taken) * 0.95)]


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:6.1f} ms"


def run(warehouse: Connection, rows: int, times: int, *, only_fill: bool = False) -> None:
    with control_plane():
        workspace, runs = make_world(warehouse)
        fill(warehouse, rows, str(workspace.pk), [str(run.pk) for run in runs])
        if not only_fill:
            measure(workspace, runs, rows, times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--times", type=int, default=40)
    parser.add_argument("--fill", action="store_true", help="only make the rows")
    options = parser.parse_args()
    home = Path(os.environ.setdefault("FLOW_HOME", tempfile.gettempdir() + "/flow-bench"))
    with Services.start(home, ["postgres"]) as services:
        warehouse = Connection("warehouse", **ensure_warehouse(services.addresses, "bench"))
        run(warehouse, options.rows, options.times, only_fill=options.fill)


if __name__ == "__main__":
    main()
