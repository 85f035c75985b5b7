"""Pipelines that keep rejected rows, and entries in their tables."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from psycopg import sql
from psycopg.types.json import Jsonb

from executors.load_record import LoadCommit, RunRef, TableIdentity
from executors.model import Connection, SourceField
from executors.postgres.client import connect
from executors.postgres.meta import ensure_meta, write_commit
from executors.postgres.quarantine import ensure_quarantine
from ir.types import STRING

if TYPE_CHECKING:
    from flowapp.accounts.models import Workspace
    from flowapp.pipelines.models import Pipeline
    from flowapp.runs.models import Run

DEMO = json.loads(files("flowapp.demo").joinpath("nyc-flights.json").read_text())


def connect_to(workspace: Workspace, warehouse: Connection) -> Workspace:
    """Add a connection `warehouse` to the workspace."""
    from flowapp.connections.fields import ConnectionFields
    from flowapp.connections.services import add_connection

    fields = ConnectionFields(
        "postgres", warehouse.host, warehouse.port, warehouse.database, warehouse.user, warehouse.password
    )
    add_connection(workspace, "warehouse", fields)
    return workspace


def save(workspace: Workspace, slug: str, table: str) -> Pipeline:
    """Save a pipeline that keeps its rejects in that table."""
    from flowapp.pipelines.services import save_version

    document = json.loads(json.dumps(DEMO)) | {"id": slug}
    document["nodes"][2]["quarantine"]["table"] = table
    return save_version(workspace, json.dumps(document)).pipeline


def keep(
    warehouse: Connection,
    pipeline: Pipeline,
    table: str,
    rule: str,
    run: Run | str | None = None,
    n: int = 1,
    **changes: Any,
) -> str:
    """Put entries of one rule into a quarantine table, of a new run unless one is given; returns the run's id."""
    from flowapp.runs.models import Run, Trigger
    from flowapp.runs.services import queue_run

    found = run or queue_run(pipeline, Trigger.CLI, send=False)
    entry = {
        "pipelineId": pipeline.slug,
        "runId": str(found.pk) if isinstance(found, Run) else found,
        "nodeId": "check",
        "ruleId": rule,
        "row": {"id": 1},
        "message": "is NULL",
        "severity": "skip",
        "disposition": "dropped",
        "attempt": 1,
        "targetNode": "load",
        "sourceFile": "a.csv",
        "sourceRecord": 7,
        "rowFrom": "source",
        "tenant": str(pipeline.workspace_id),
        **changes,
    }
    values = {**entry, "row": Jsonb(entry["row"])}
    schema, name = table.split(".")
    row_id = values.pop("rowId", None)
    insert = sql.SQL('INSERT INTO {} ({}, "rowId") VALUES ({}, {})')
    with connect(warehouse, autocommit=True) as connection:
        ensure_quarantine(connection, table)
        for i in range(n):
            connection.execute(
                insert.format(
                    sql.Identifier(schema, name.strip('"')),
                    sql.SQL(", ").join(map(sql.Identifier, values)),
                    sql.SQL(", ").join(map(sql.Literal, values.values())),
                    sql.Literal(row_id or f"{rule}-{i}"),
                )
            )
    return entry["runId"]


def list_entries(workspace: Workspace, *, limit: int = 50, **filters: Any) -> list[dict[str, Any]]:
    """Return the newest entries, in the order of `page_entries`."""
    from flowapp.quarantine.selectors import page_entries

    return page_entries(workspace, limit=limit, **filters).entries


def tell_fields(warehouse: Connection, pipeline: Pipeline, run: str, names: list[str]) -> None:
    """Let a run have noted the fields of its source, in that order."""
    ref = RunRef(run, str(pipeline.workspace_id), pipeline.slug, "load", 1, 1)
    fields = tuple(SourceField(name, STRING, as_text=True) for name in names)
    commit = LoadCommit(run, "load", 1, TableIdentity("public", "t", 1), token=1, source_fields=fields)
    with connect(warehouse, autocommit=True) as conn:
        ensure_meta(conn)
        write_commit(conn, ref, commit)


def report_of(**results: int) -> dict[str, Any]:
    """The stored report of a run over rejected rows: how many of them had which result."""
    from flowapp.runs.stored_report import StoredReport

    return StoredReport(row_results=results).to_json()


def count_rule(run: Run, violations: int, rule: str = "r1", field: str | None = "tailnum", **changes: Any) -> None:
    """Let a run have counted a rule beside those that it has counted, as the report of a run does."""
    from flowapp.quarantine.totals import change_totals
    from flowapp.runs.models import RuleCount

    before = list(run.rules.all())
    columns = {"position": len(before), "node": "check", "type": "notNull", "on_fail": "skip", **changes}
    RuleCount.objects.create(workspace=run.workspace, run=run, rule=rule, field=field, violations=violations, **columns)
    change_totals(run, before, run.rules.all())
