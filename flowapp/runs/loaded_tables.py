"""The tables that a run loaded, and their current first rows."""

from __future__ import annotations

from dataclasses import dataclass

from executors.target_database import FirstRows, TableName, read_first_rows
from flowapp.connections.selectors import get_connection
from flowapp.connections.services import resolve
from flowapp.pipelines.documents import read_document
from flowapp.runs.models import CommitRecord, Run
from ir.errors import FlowError
from ir.nodes import Target


@dataclass(frozen=True, slots=True)
class LoadedTable:
    """The table of a target that has a committed load of a run."""

    node: str
    name: TableName
    connection: str


def list_loaded_tables(run: Run) -> list[LoadedTable]:
    """Return the tables with a commit of the run; none if this release cannot parse its document."""
    nodes = set(CommitRecord.objects.filter(run=run).values_list("node", flat=True))
    if not nodes:
        return []
    try:
        targets = read_document(run.document).targets()
    except FlowError:
        return []
    return [_table(target) for target in targets if target.id in nodes]


def _table(target: Target) -> LoadedTable:
    return LoadedTable(target.id, TableName(target.schema_, target.table), target.connection)


def get_loaded_table(run: Run, node: str) -> LoadedTable:
    """Return the table of one target. Raises FlowError."""
    for table in list_loaded_tables(run):
        if table.node == node:
            return table
    raise FlowError(
        "run.not_loaded",
        f"Run {run.name} has loaded nothing into {node!r}.",
        hint="Open the run to see its targets.",
    )


def first_rows_of(run: Run, table: LoadedTable) -> FirstRows:
    """Read the first rows of the table as it is now, including rows of other runs. Raises Failure or FlowError."""
    return read_first_rows(resolve(get_connection(run.workspace, table.connection)), table.name)
