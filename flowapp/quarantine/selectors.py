"""Reading rejected rows where they are kept: in the quarantine tables of the target databases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from psycopg import Connection, sql
from psycopg.rows import dict_row

from executors.postgres.client import connect, translate
from executors.postgres.names import TableName
from flowapp.accounts.models import Workspace
from flowapp.connections.selectors import get_connection
from flowapp.connections.services import resolve
from flowapp.pipelines.documents import read_document
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.selectors import get_version, list_pipelines
from flowapp.runs.models import Run
from ir.pipeline import Pipeline as Document

COLUMNS = (
    "id", "pipelineId", "runId", "nodeId", "ruleId", "field", "message", "severity", "disposition", "status",
    "sourceFile", "sourceRecord", "rowId", "rowFrom", "row", "createdAt",
)  # fmt: skip
"""What is told of an entry: one violated rule of one row."""


@dataclass(frozen=True, slots=True)
class Place:
    """A quarantine table and the stored connection by which it is reached."""

    connection: str
    table: TableName


def list_entries(
    workspace: Workspace,
    *,
    pipeline: Pipeline | None = None,
    run: Run | None = None,
    rule: str | None = None,
    limit: int = 50,
) -> list[dict[str, Any]]:
    """The newest entries of all quarantine tables in question, `limit` in all.

    Raises Failure when one of their databases cannot be asked: a part is never shown as the whole.
    """
    wanted = {"runId": str(run.pk) if run else None, "ruleId": rule}
    found: list[dict[str, Any]] = []
    for document in _documents(workspace, pipeline, run):
        for place in _places(document):
            found += _read(workspace, place, {**wanted, "pipelineId": document.id}, limit)
    found.sort(key=lambda entry: (entry["createdAt"], entry["id"]), reverse=True)
    return found[:limit]


def _documents(workspace: Workspace, pipeline: Pipeline | None, run: Run | None) -> Iterator[Document]:
    """The documents that say where rows were put: of a run its own version, else the newest ones."""
    if run is not None:
        yield read_document(get_version(run.pipeline, run.version.number).document)
        return
    for one in [pipeline] if pipeline else list_pipelines(workspace):
        if one.latest_number:
            yield read_document(get_version(one).document)


def _places(document: Document) -> Iterable[Place]:
    """Without repeats: several validate nodes may share one table."""
    return dict.fromkeys(
        Place(target.connection, TableName.parse(validate.quarantine.table))
        for target in document.targets()
        for validate in document.path_to(target).validates
        if validate.quarantine and validate.quarantine.enabled and validate.quarantine.table
    )


def _read(workspace: Workspace, place: Place, wanted: dict[str, str | None], limit: int) -> list[dict[str, Any]]:
    with connect(resolve(get_connection(workspace, place.connection)), autocommit=True) as reached, translate():
        if not _exists(reached, place.table):
            return []
        rows = reached.cursor(row_factory=dict_row).execute(_query(place.table, wanted), {**wanted, "limit": limit})
        return [{**row, "table": str(place.table), "connection": place.connection} for row in rows]


def _exists(reached: Connection, table: TableName) -> bool:
    """A quarantine table is made with the first run that keeps rows in it."""
    row = reached.execute("SELECT to_regclass(%s) IS NOT NULL", [table.identifier.as_string(reached)]).fetchone()
    return bool(row and row[0])


def _query(table: TableName, wanted: dict[str, str | None]) -> sql.Composed:
    conditions = [
        sql.SQL("{} = {}").format(sql.Identifier(name), sql.Placeholder(name))
        for name, value in wanted.items()
        if value is not None
    ]
    return sql.SQL("SELECT {} FROM {} WHERE {} ORDER BY id DESC LIMIT {}").format(
        sql.SQL(", ").join(map(sql.Identifier, COLUMNS)),
        table.identifier,
        sql.SQL(" AND ").join(conditions),
        sql.Placeholder("limit"),
    )
