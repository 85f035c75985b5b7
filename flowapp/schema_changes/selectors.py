"""Queries for changes of columns."""

from __future__ import annotations

import json
import tomllib
from collections import defaultdict
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db.models import F, Q, QuerySet

from flowapp.accounts.models import Workspace
from flowapp.pipelines.checking import nodes_of
from flowapp.pipelines.documents import read_document, syntax_of
from flowapp.pipelines.models import Pipeline, PipelineVersion
from flowapp.runs.models import SOURCE_LOADS, Run
from flowapp.schema_changes.models import OPEN, ChangeState, ColumnChange
from ir.errors import FlowError

NEWEST_FIRST = ("-seen_at", "id")
DECIDED = ~Q(state__in=OPEN)


def list_changes(
    workspace: Workspace, *, pipeline: Pipeline | None = None, state: str | None = None
) -> QuerySet[ColumnChange]:
    """List the changes of a workspace, newest first."""
    filters = {"pipeline": pipeline, "state": state}
    found = ColumnChange.objects.filter(workspace=workspace, **{k: v for k, v in filters.items() if v is not None})
    return found.select_related("pipeline", "run").order_by(*NEWEST_FIRST)


def get_change(workspace: Workspace, change_id: UUID | str) -> ColumnChange:
    """Return a change of this workspace. Raises FlowError."""
    try:
        return list_changes(workspace).get(pk=UUID(str(change_id)))
    except (ColumnChange.DoesNotExist, ValueError):
        raise FlowError(
            "schema.change_unknown",
            f"There is no change {str(change_id)!r} here.",
            hint="The page Schema changes and `flow schema log` show all changes.",
        ) from None


def accepted_changes(run: Run) -> Mapping[str, frozenset[str]]:
    """Return the IDs of the accepted changes by target. Only loads follow changes, and only those of the tables for
    which they were accepted."""
    return _changes_in(run, ChangeState.ACCEPTED) if run.kind in SOURCE_LOADS else {}


def rejected_changes(run: Run) -> Mapping[str, frozenset[str]]:
    """Return the IDs of the rejected changes by target, for previews too: they show what a load would do."""
    return _changes_in(run, ChangeState.REJECTED)


def _changes_in(run: Run, state: ChangeState) -> Mapping[str, frozenset[str]]:
    """Return the IDs of the changes in a state, of the tables that the targets of the run have now."""
    found: dict[str, set[str]] = defaultdict(set)
    decided = ColumnChange.objects.filter(pipeline=run.pipeline_id, state=state)
    rows = list(decided.values_list("node", "change_id", "connection", "schema", "table"))
    tables = tables_of(run) if rows else {}
    for node, change_id, *table in rows:
        if tables.get(node) == tuple(table):
            found[node].add(change_id)
    return {node: frozenset(ids) for node, ids in found.items()}


Table = tuple[str, str, str]
"""Connection, schema and name."""


def tables_of(run: Run) -> Mapping[str, Table]:
    """Return the table of each target of a run."""
    return {
        target.id: (target.connection, target.schema_, target.table) for target in read_document(run.document).targets()
    }


def pipelines_by_table(workspace: Workspace) -> Mapping[Table, list[str]]:
    """Return the pipelines whose newest versions load or read each table."""
    newest = PipelineVersion.objects.filter(pipeline__workspace=workspace, number=F("pipeline__latest_number"))
    found: dict[Table, list[str]] = defaultdict(list)
    for slug, text in newest.order_by("pipeline__slug").values_list("pipeline__slug", "document").iterator():
        # Do not parse: a saved document is valid, and searching for errors would take most of the time of a page.
        document = (json.loads if syntax_of(text) == "json" else tomllib.loads)(text.removeprefix("\ufeff"))
        for table in {_table_of(node) for _, node in nodes_of(document)} - {None}:
            if table is not None:
                found[table].append(slug)
    return found


def _table_of(node: Mapping[str, Any]) -> Table | None:
    """Return the table that a node loads or reads."""
    if node.get("kind") == "target":
        parts = [node.get("connection"), node.get("schema"), node.get("table")]
    else:
        config = node.get("config")
        read = config.get("table") if isinstance(config, dict) else None
        parts = [node.get("connection"), read.get("schema"), read.get("name")] if isinstance(read, dict) else []
    texts = [part for part in parts if isinstance(part, str)]
    return (texts[0], texts[1], texts[2]) if len(texts) == 3 else None
