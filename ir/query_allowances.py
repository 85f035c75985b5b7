"""The permissions that an admin must grant on a connection before a query runs: for extension functions, and for roles
with privileges on the server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ir.allowances import Allowance, Allowances, Name
from ir.checks import CustomSql
from ir.checks.custom_sql import STAGED
from ir.connectors import CONNECTORS, check_settings
from ir.connectors.base import SourceConfig
from ir.diagnostics import Diagnostic, Skipped, diagnose, listed, shown
from ir.graph import Graph
from ir.hooks.sql import SqlHook
from ir.nodes import Source, Target, Validate
from ir.pointers import Pointer
from ir.queries import Query, QueryRefused, read_query
from ir.structure import DraftNode


@dataclass(frozen=True, slots=True)
class _CheckedQuery:
    """A query, its position, and the connections that it is sent to. A hook's query is only planned."""

    at: Pointer
    query: Query
    connections: tuple[str, ...]
    is_only_planned: bool = False


def check_allowances(graph: Graph, allowances: Allowances | None) -> Iterator[Diagnostic | Skipped]:
    """Check that each query may run over its connections, as far as the allowances are known."""
    known = allowances or {}
    for node in graph.nodes:
        for checked in _queries(node, graph):
            for connection in checked.connections:
                yield from _check(checked, connection, known.get(connection))


def _check(checked: _CheckedQuery, connection: str, allowance: Allowance | None) -> Iterator[Diagnostic | Skipped]:
    foreign = checked.query.foreign_functions
    if allowance is None:
        if foreign:
            reason = "the permissions of the connection are unknown without access to it"
            yield Skipped("query.function_not_allowed", checked.at, reason)
        return
    if missing := [name for name in foreign if name not in allowance.functions]:
        yield diagnose("query.function_not_allowed", checked.at, not_allowed(missing, connection))
    if allowance.role and not checked.is_only_planned:
        yield diagnose(
            "query.role_not_allowed", checked.at, f"Queries over {shown(connection)} are not allowed: {allowance.role}."
        )


def not_allowed(functions: list[Name], connection: str) -> str:
    """Return a sentence about `functions` that are not allowed."""
    names = listed(f"{schema}.{name}" for schema, name in functions)
    are = "is not a function" if len(functions) == 1 else "are not functions"
    return f"{names} {are} built into PostgreSQL, and not allowed on the connection {shown(connection)}."


def _queries(node: DraftNode, graph: Graph) -> Iterator[_CheckedQuery]:
    spec = node.spec
    if isinstance(spec, Source) and spec.connector in CONNECTORS:
        parts, _ = check_settings(spec.connector, spec.config, node.at / "config")
        for config in (part.spec for part in parts):
            if isinstance(config, SourceConfig) and spec.connection:
                for pointer, text in config.queries(node.at / "config"):
                    yield from _read(pointer, text, (), (spec.connection,))
    elif isinstance(spec, Validate):
        targets = tuple(dict.fromkeys(_connections_below(node, graph)))
        for part in node.parts:
            if isinstance(part.spec, CustomSql):
                yield from _read(part.at / "query", part.spec.query, (STAGED,), targets)
    elif isinstance(spec, Target):
        for part in node.parts:
            if isinstance(part.spec, SqlHook) and part.spec.explained is not None:
                yield _CheckedQuery(
                    part.at / "statement", part.spec.explained, (spec.connection,), is_only_planned=True
                )


def _read(at: Pointer, text: str, given: tuple[str, ...], connections: tuple[str, ...]) -> Iterator[_CheckedQuery]:
    """Yield the parsed query; nothing if it is refused, because that is reported elsewhere."""
    try:
        yield _CheckedQuery(at, read_query(text, given), connections)
    except QueryRefused:
        return


def _connections_below(node: DraftNode, graph: Graph) -> Iterator[str]:
    """Yield the connections of all targets below a node."""
    seen, pending = {node.at}, [node]
    while pending:
        current = pending.pop()
        if isinstance(current.spec, Target):
            yield current.spec.connection
        for reader in graph.readers[current.id] if current.id is not None else ():
            if reader.at not in seen:
                seen.add(reader.at)
                pending.append(reader)
