"""Reading rejected rows where they are kept: in the quarantine tables of the target databases.

A table may be shared, even with another workspace that has a pipeline of the same id: only entries of runs that this
workspace knows are ever shown.
"""

from __future__ import annotations

import base64
import binascii
import heapq
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any
from uuid import UUID

from psycopg import Connection, sql
from psycopg.rows import dict_row

from executors.postgres.client import connect, translate
from executors.postgres.names import TableName
from flowapp.accounts.models import Workspace
from flowapp.connections.selectors import get_connection
from flowapp.connections.services import resolve
from flowapp.pipelines.models import Pipeline
from flowapp.quarantine.places import Place, places_of
from flowapp.runs.models import Run

COLUMNS = (
    "id", "pipelineId", "runId", "nodeId", "ruleId", "field", "message", "severity", "disposition", "status",
    "sourceFile", "sourceRecord", "rowId", "rowFrom", "row", "createdAt",
)  # fmt: skip
"""What is told of an entry: one violated rule of one row."""

Entry = dict[str, Any]
NARROWED_BY = {"pipeline": "pipelineId", "run": "runId", "rule": "ruleId", "field": "field", "row_id": "rowId"}


@dataclass(frozen=True, slots=True)
class Entries:
    """Some entries, newest first, and the cursor of those that follow: "" where there are none."""

    entries: list[Entry]
    next: str = ""


def list_entries(
    workspace: Workspace,
    *,
    pipeline: Pipeline | None = None,
    run: Run | None = None,
    rule: str | None = None,
    limit: int = 50,
) -> list[Entry]:
    """The newest entries of all quarantine tables in question, `limit` in all. Raises as `page_entries` does."""
    return page_entries(workspace, pipeline=pipeline, run=run, rule=rule, limit=limit).entries


def page_entries(
    workspace: Workspace,
    *,
    pipeline: Pipeline | None = None,
    run: Run | None = None,
    rule: str | None = None,
    field: str | None = None,
    cursor: str = "",
    limit: int = 50,
) -> Entries:
    """A page of the entries in question, of all their tables together.

    Raises Failure when one of their databases cannot be asked: a part is never shown as the whole. A cursor that makes
    no sense gives the first page.
    """
    wanted = {"rule": rule, "field": field, "run": str(run.pk) if run else None}
    positions = _decode(cursor)
    found = list(_read_all(workspace, places_of(workspace, pipeline, run), wanted, positions, limit + 1))
    merged = heapq.merge(*found, key=lambda entry: (entry["createdAt"], entry["id"]), reverse=True)
    shown = list(islice(merged, limit))
    more = sum(map(len, found)) > limit
    for entry in shown:
        positions[entry["place"]] = entry["id"]
    for entry in shown:
        del entry["place"]
    return Entries(shown, _encode(positions) if more else "")


def list_entries_of_row(workspace: Workspace, run: Run, row_id: str) -> list[Entry]:
    """All rules that one row of a run violated, in the order in which they were noted."""
    wanted = {"run": str(run.pk), "row_id": row_id}
    places = places_of(workspace, None, run)
    found = [entry for part in _read_all(workspace, places, wanted, {}, MOST_RULES) for entry in part]
    return sorted(found, key=lambda entry: entry["id"])


MOST_RULES = 1000


def _read_all(
    workspace: Workspace,
    places: Iterable[Place],
    wanted: Mapping[str, str | None],
    positions: Mapping[str, int],
    limit: int,
) -> Iterator[list[Entry]]:
    """The entries of each place, one session for each connection."""
    by_connection = sorted(places, key=lambda place: place.connection)
    for name, here in groupby(by_connection, key=lambda place: place.connection):
        with connect(resolve(get_connection(workspace, name)), autocommit=True) as reached, translate():
            for place in here:
                if _exists(reached, place.table):
                    yield _read(reached, workspace, place, {**wanted, "pipeline": place.pipeline}, positions, limit)


def _exists(reached: Connection, table: TableName) -> bool:
    """A quarantine table is made with the first run that keeps rows in it."""
    row = reached.execute("SELECT to_regclass(%s) IS NOT NULL", [table.identifier.as_string(reached)]).fetchone()
    return bool(row and row[0])


def _read(
    reached: Connection,
    workspace: Workspace,
    place: Place,
    wanted: Mapping[str, str | None],
    positions: Mapping[str, int],
    limit: int,
) -> list[Entry]:
    known = {wanted["run"]} if wanted.get("run") else set()
    strangers: list[str] = []
    if not known:
        known, strangers = _runs_in(reached, workspace, place)
    values = {**wanted, "before": positions.get(place.key), "strangers": strangers or None, "limit": limit}
    rows = reached.cursor(row_factory=dict_row).execute(_query(place.table, values), values)
    more = {"table": str(place.table), "connection": place.connection, "place": place.key}
    return [{**row, **more} for row in rows if row["runId"] in known]


RUNS = """
WITH RECURSIVE found AS (
    (SELECT "runId" FROM {table} WHERE "pipelineId" = %(pipeline)s ORDER BY "runId" LIMIT 1)
    UNION ALL
    SELECT (SELECT t."runId" FROM {table} t WHERE t."pipelineId" = %(pipeline)s AND t."runId" > f."runId"
            ORDER BY t."runId" LIMIT 1)
    FROM found f WHERE f."runId" IS NOT NULL
)
SELECT "runId" FROM found WHERE "runId" IS NOT NULL
"""
"""One step of the index for each run, whatever the number of entries."""


def _runs_in(reached: Connection, workspace: Workspace, place: Place) -> tuple[set[str], list[str]]:
    """The runs with entries there: those of this workspace, and those of strangers."""
    query = sql.SQL(RUNS).format(table=place.table.identifier)
    found = {row[0] for row in reached.execute(query, {"pipeline": place.pipeline})}
    ids = [identity for text in found if (identity := _uuid(text))]
    mine = Run.objects.filter(workspace=workspace, pk__in=ids).values_list("pk", flat=True)
    known = {str(key) for key in mine}
    return known, sorted(found - known)


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _query(table: TableName, values: Mapping[str, Any]) -> sql.Composed:
    conditions = [
        sql.SQL("{} = {}").format(sql.Identifier(NARROWED_BY[name]), sql.Placeholder(name))
        for name, value in values.items()
        if name in NARROWED_BY and value is not None
    ]
    if values["before"] is not None:
        conditions.append(sql.SQL("id < {}").format(sql.Placeholder("before")))
    if values["strangers"] is not None:
        conditions.append(sql.SQL('"runId" <> ALL ({})').format(sql.Placeholder("strangers")))
    return sql.SQL("SELECT {} FROM {} WHERE {} ORDER BY id DESC LIMIT {}").format(
        sql.SQL(", ").join(map(sql.Identifier, COLUMNS)),
        table.identifier,
        sql.SQL(" AND ").join(conditions),
        sql.Placeholder("limit"),
    )


def _encode(positions: Mapping[str, int]) -> str:
    return base64.urlsafe_b64encode(json.dumps(positions).encode()).decode().rstrip("=")


def _decode(cursor: str) -> dict[str, int]:
    """For each place the last entry that was shown."""
    try:
        positions = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))) if cursor else {}
        return {str(place): int(last) for place, last in positions.items()}
    except (binascii.Error, ValueError, TypeError, AttributeError):
        return {}
