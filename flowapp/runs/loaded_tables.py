"""The tables that a run loaded, and their current first rows."""

from __future__ import annotations

from dataclasses import dataclass

from executors.target_database import FirstRows, TableName, read_first_rows
from flowapp.connections.target_databases import database_of, is_in_database
from flowapp.pipelines.documents import read_document
from flowapp.runs.models import CommitRecord, Run
from ir.errors import FlowError
from ir.nodes import Target


@dataclass(frozen=True, slots=True)
class LoadedTable:
    """The table of a target that has a committed load of a run."""

    target: Target

    @property
    def node(self) -> str:
        return self.target.id

    @property
    def name(self) -> TableName:
        return TableName(self.target.schema_, self.target.table)

    @property
    def connection(self) -> str:
        return self.target.connection

    @property
    def can_be_read(self) -> bool:
        """Return whether Flow can show rows of the table."""
        return is_in_database(self.target)


def list_loaded_tables(run: Run) -> list[LoadedTable]:
    """Return the tables with a commit of the run; none if this release cannot parse its document."""
    nodes = set(CommitRecord.objects.filter(run=run).values_list("node", flat=True))
    if not nodes:
        return []
    try:
        targets = read_document(run.document).targets()
    except FlowError:
        return []
    return [LoadedTable(target) for target in targets if target.id in nodes]


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
    return read_first_rows(database_of(run.workspace, table.target, "The first rows are"), table.name)
