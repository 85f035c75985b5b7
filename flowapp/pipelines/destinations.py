"""Find the target tables of an edited document, quickly and without raising.

An editor asks after every change, so results are cached for some seconds. A database that does not respond is only
reported.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.core.cache import cache

from executors.target_database import TableName, inspect_tables
from flowapp.accounts.models import Workspace
from flowapp.connections.allowing import allowance_of
from flowapp.connections.models import Connection
from flowapp.connections.services import KINDS, POSTGRES, resolve
from flowapp.connections.webhook_fields import WEBHOOK
from ir.allowances import Allowance
from ir.connection_references import kinds_for
from ir.connectors import connection_kinds, connection_kinds_of, loadable_kinds
from ir.destinations import Destination
from ir.errors import FlowError

CACHE_SECONDS = 15
TIMEOUT_SECONDS = 2


class Table(NamedTuple):
    """The location of a target table: the name of a stored connection, a schema and a table."""

    connection: str
    schema: str
    table: str


@dataclass(frozen=True, slots=True)
class Found:
    """What the databases of a document contain. `tables` and `allowances` are arguments of `parsePipelineIR`, `silent`
    has the reason for each connection that could not be queried, and `kinds` has the kind of each stored connection, by
    name."""

    tables: dict[tuple[str, str, str], Destination | None]
    silent: dict[str, str]
    kinds: Mapping[str, str]
    allowances: Mapping[str, Allowance] = field(default_factory=dict)

    @property
    def known(self) -> tuple[str, ...]:
        """The names of the connections that any node can use."""
        return self._of_kinds(connection_kinds())

    @property
    def loadable(self) -> tuple[str, ...]:
        """The names of the connections that targets can use."""
        return self._of_kinds(loadable_kinds())

    @property
    def webhooks(self) -> tuple[str, ...]:
        """The names of the connections that hooks can use."""
        return self._of_kinds({WEBHOOK})

    def names_for(self, node: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the connections that a node can use; those of every kind if its connector is unknown or needs none."""
        return self.names_of(kinds_for(node))

    def names_of(self, kinds: Collection[str]) -> tuple[str, ...]:
        """Return the connections of these kinds; without kinds, those that any node can use."""
        return self._of_kinds(kinds) if kinds else self.known

    def _of_kinds(self, kinds: Collection[str]) -> tuple[str, ...]:
        return tuple(name for name, kind in self.kinds.items() if kind in kinds)


def find_destinations(workspace: Workspace, document: Any, *, fresh: bool = False) -> Found:
    """Return the tables that a document's targets name, as far as the databases respond. Those of other connections are
    unknown. `fresh` ignores the cache."""
    all_stored = list(Connection.objects.filter(workspace=workspace).order_by("name"))
    stored = {c.name: c for c in all_stored if c.kind == POSTGRES}
    allowances = {c.name: allowance_of(c) for c in all_stored if KINDS[c.kind].runs_queries}
    found = Found({}, {}, {c.name: c.kind for c in all_stored}, allowances)
    wanted = list(dict.fromkeys(_tables_of(document)))
    for name in dict.fromkeys(table.connection for table in wanted):
        if name in stored:
            _look(found, stored[name], [table for table in wanted if table.connection == name], fresh)
    return found


def loads_database(node: Mapping[str, Any]) -> bool:
    """Return whether a target loads a table of a database, which can be inspected; true for an unknown connector."""
    try:
        return POSTGRES in connection_kinds_of(node)
    except KeyError:
        return True


def _tables_of(document: Any) -> Iterator[Table]:
    """Yield the targets of a possibly invalid document that load databases."""
    nodes = document.get("nodes") if isinstance(document, dict) else None
    for node in nodes if isinstance(nodes, list) else ():
        if isinstance(node, dict) and node.get("kind") == "target" and loads_database(node):
            given = [node.get(field) for field in Table._fields]
            parts = [part for part in given if isinstance(part, str) and part and "\0" not in part]
            if len(parts) == len(given):
                yield Table(*parts)


def _look(found: Found, connection: Connection, wanted: list[Table], fresh: bool) -> None:
    cached = {} if fresh else cache.get_many([_key(connection, table) for table in wanted])
    missing = [table for table in wanted if _key(connection, table) not in cached]
    found.tables.update({table: cached[_key(connection, table)] for table in wanted if table not in missing})
    if not missing:
        return
    silent = "" if fresh else cache.get(_key(connection), "")
    if not silent:
        silent = _ask(found, connection, missing)
        cache.set(_key(connection), silent, CACHE_SECONDS)
    if silent:
        found.silent[connection.name] = silent


def _ask(found: Found, connection: Connection, wanted: list[Table]) -> str:
    """Query tables; return the reason if that is not possible."""
    try:
        for table, destination in _inspect(connection, wanted):
            found.tables[table] = destination
            cache.set(_key(connection, table), destination, CACHE_SECONDS)
    except FlowError as error:
        return error.message
    return ""


def _inspect(connection: Connection, wanted: Iterable[Table]) -> Iterator[tuple[Table, Destination | None]]:
    tables = [TableName(table.schema, table.table) for table in wanted]
    for table, destination in inspect_tables(resolve(connection), tables, timeout=TIMEOUT_SECONDS):
        yield Table(connection.name, table.schema, table.table), destination


def _key(connection: Connection, table: Table | None = None) -> str:
    parts = "\0".join([str(connection.pk), connection.changed_at.isoformat(), *(table or ())])
    return f"destination:{hashlib.sha256(parts.encode(errors='surrogatepass')).hexdigest()}"
