"""Suggestions for names of tables and columns in the forms of a draft, from databases and files.

Like `destinations`, this never raises and never delays a page for long: a database that does not respond offers no
names."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from django.core.cache import cache

from executors.target_database import TableName, list_columns, list_tables
from flowapp.accounts.models import Workspace
from flowapp.connections.models import Connection
from flowapp.connections.services import KINDS, resolve
from flowapp.pipelines.checking import nodes_of
from flowapp.pipelines.destinations import loads_database
from flowapp.pipelines.drafts import DraftView
from flowapp.pipelines.headers import newest_header
from ir.budget import BudgetExceeded, budget
from ir.errors import FlowError
from ir.graph import Graph, known_columns
from ir.pointers import Pointer
from ir.structure import read_structure

Found = TypeVar("Found")
CACHE_SECONDS = 60
TIMEOUT_SECONDS = 2
CHECK_SECONDS = 1.0
MOST_TABLES = 500
"""The maximum length of a list that a user can search."""


@dataclass(frozen=True)
class TableChoices:
    """The tables of a node's connection. `tables` are the names in the chosen schema, or in all schemas if none is
    chosen; `qualified` are all names with their schemas."""

    schemas: list[str]
    tables: list[str]
    qualified: list[str]


NO_TABLES = TableChoices([], [], [])


def list_table_choices(workspace: Workspace, document: Any, node: Mapping[str, Any]) -> TableChoices:
    """Return the tables for a node's form; for a node without a connection, those of the first target."""
    if node.get("kind") == "target" and not loads_database(node):
        return NO_TABLES
    connection = _connection_of(workspace, node) or _first_target(workspace, document)
    if connection is None:
        return NO_TABLES
    found = _ask(connection, "tables", lambda: list_tables(resolve(connection), MOST_TABLES, timeout=TIMEOUT_SECONDS))
    schemas = list(dict.fromkeys(table.schema for table in found))
    chosen = _schema_of(node)
    wanted = [table for table in found if table.schema == chosen or chosen not in schemas]
    return TableChoices(schemas, list(dict.fromkeys(t.table for t in wanted)), [table.written for table in found])


def list_column_choices(workspace: Workspace, view: DraftView, at: Pointer, node: Mapping[str, Any]) -> list[str]:
    """Return the columns that a node's fields can name: the columns of its rows, those that it makes, then those of the
    table that it loads."""
    names = [*_arriving(workspace, view.last_good, at), *_loaded(view, node)]
    return list(dict.fromkeys(names))


def _arriving(workspace: Workspace, document: Any, at: Pointer) -> list[str]:
    seen = {str(node.get("id")): _columns_of(workspace, node) for _, node in nodes_of(document)}
    graph = Graph(read_structure(document)[0].nodes)
    try:
        with budget(CHECK_SECONDS):
            arriving = known_columns(graph, {name: columns for name, columns in seen.items() if columns})
    except BudgetExceeded:
        return []
    node = next((one for one in graph.nodes if one.at == at), None)
    if node is None or at not in arriving:
        return []
    columns = arriving[at]
    made = node.spec.columns_after(columns).present if node.spec else ()
    return [*columns.present, *(columns.seen or ()), *made, *seen.get(node.id or "", ())]


def _columns_of(workspace: Workspace, node: Mapping[str, Any]) -> list[str]:
    """Return the current columns of a source; empty if they are unknown."""
    if node.get("kind") != "source":
        return []
    connection, table = _connection_of(workspace, node), _source_table(node)
    if connection is None or table is None:
        return newest_header(workspace, node)
    ask = f"columns\0{table.schema}\0{table.table}"
    return _ask(connection, ask, lambda: list_columns(resolve(connection), table, timeout=TIMEOUT_SECONDS))


def _loaded(view: DraftView, node: Mapping[str, Any]) -> list[str]:
    """Return the columns of the table that a target loads; for another node, those of all targets."""
    tables = view.checked.found.tables
    wanted = (node.get("connection"), node.get("schema"), node.get("table"))
    found = [tables[key] for key in tables if key == wanted or node.get("kind") != "target"]
    return [column.name for table in found if table for column in table.columns]


def _source_table(node: Mapping[str, Any]) -> TableName | None:
    config = node.get("config")
    table = config.get("table") if isinstance(config, dict) else None
    parts = [table.get("schema"), table.get("name")] if isinstance(table, dict) else []
    names = [part for part in parts if isinstance(part, str) and part and "\0" not in part]
    return TableName(*names) if len(names) == 2 else None


def _schema_of(node: Mapping[str, Any]) -> str:
    config = node.get("config")
    table = config.get("table") if isinstance(config, dict) else None
    chosen = table.get("schema") if isinstance(table, dict) else node.get("schema")
    return chosen if isinstance(chosen, str) else ""


def _connection_of(workspace: Workspace, node: Mapping[str, Any]) -> Connection | None:
    """Return the stored connection of a node if it is a database with tables."""
    name = node.get("connection")
    if not isinstance(name, str) or not name or "\0" in name:
        return None
    stored = Connection.objects.filter(workspace=workspace, name=name).first()
    return stored if stored and KINDS[stored.kind].runs_queries else None


def _first_target(workspace: Workspace, document: Any) -> Connection | None:
    targets = (node for _, node in nodes_of(document) if node.get("kind") == "target" and loads_database(node))
    return next((found for node in targets if (found := _connection_of(workspace, node))), None)


def _ask(connection: Connection, what: str, ask: Callable[[], list[Found]]) -> list[Found]:
    """Return the answer of a database, from the cache if it is recent; empty if the database does not respond."""
    parts = "\0".join([str(connection.pk), connection.changed_at.isoformat(), what])
    key = f"picker:{hashlib.sha256(parts.encode(errors='surrogatepass')).hexdigest()}"
    found: list[Found] | None = cache.get(key)
    if found is None:
        try:
            found = ask()
        except FlowError:
            found = []
        cache.set(key, found, CACHE_SECONDS)
    return found
