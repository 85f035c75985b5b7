"""Find out what changed pipelines need in their databases: the structure of target tables, the number of rows to read,
and problems."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from django.conf import settings

from executors.errors import Failure
from executors.model import SourceField
from executors.target_database import (
    SourceTable,
    StructureStatement,
    TableName,
    describe_sources,
    fields_after,
    find_missing_schemas,
    plan_quarantine,
    plan_structure,
)
from flowapp.accounts.models import Workspace
from flowapp.connections.models import Connection
from flowapp.connections.services import resolve
from flowapp.connections.target_databases import is_in_database
from flowapp.pipelines.destinations import Found, find_destinations
from flowapp.pipelines.summaries import QuarantineTable, find_quarantines
from ir.columns import Columns
from ir.connection_references import connection_references
from ir.connectors import TARGET_CONNECTORS, config_of
from ir.connectors.postgres import PostgresConfig
from ir.destinations import Destination
from ir.diagnostics import InvalidPipeline
from ir.errors import FlowError
from ir.load_modes import load_mode
from ir.manifests.plan import Problem, Statement, TableChange
from ir.manifests.project import ProjectPipeline
from ir.nodes import Source, Target
from ir.parse import parsePipelineIR
from ir.pipeline import Path, Pipeline
from ir.types import ColumnType

TIMEOUT_SECONDS = 2


@dataclass(frozen=True, slots=True)
class Databases:
    """The state of the databases for the tables of some pipelines. `no_schemas` are the schemas that do not exist, each
    with its connection."""

    found: Found
    no_schemas: Set[tuple[str, str]]
    sources: Mapping[tuple[str, TableName], SourceTable]
    coming: Mapping[str, str]

    def kind_of(self, connection: str) -> str | None:
        """Return the kind of a stored or declared connection."""
        return self.coming.get(connection) or self.found.kinds.get(connection)


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings for one pipeline."""

    tables: list[TableChange]
    problems: list[Problem]
    estimated_rows: int | None


def ask_databases(
    workspace: Workspace,
    pipelines: Sequence[ProjectPipeline],
    stored: Mapping[str, Connection],
    coming: Mapping[str, str],
) -> Databases:
    """Query each database once for all tables. `find` reports databases that do not respond. `coming` maps declared
    connections to their kinds."""
    nodes = [node for pipeline in pipelines for node in pipeline.document["nodes"]]
    for pipeline in pipelines:
        nodes += map(_as_target, find_quarantines(pipeline.parsed.pipeline))
    found = find_destinations(workspace, {"nodes": nodes}, fresh=True)
    wanted: dict[str, set[TableName]] = defaultdict(set)
    for pipeline in pipelines:
        for source in pipeline.parsed.pipeline.nodes:
            if isinstance(source, Source) and (table := _table_of(source)) and source.connection:
                wanted[source.connection].add(table)
    sources = {}
    for name, tables in wanted.items():
        if name in stored and name not in found.silent:
            sources.update({(name, table): known for table, known in _describe(stored[name], tables).items()})
    return Databases(found, _no_schemas(found, stored), sources, coming)


def _as_target(quarantine: QuarantineTable) -> dict[str, str]:
    """Return a table of rejected rows in the form of a target for `find_destinations`."""
    name = TableName.parse(quarantine.table)
    return {"kind": "target", "connection": quarantine.connection, "schema": name.schema, "table": name.table}


def _no_schemas(found: Found, stored: Mapping[str, Connection]) -> set[tuple[str, str]]:
    """Return the missing schemas of missing tables."""
    wanted: dict[str, set[str]] = defaultdict(set)
    for (connection, schema, _), destination in found.tables.items():
        if destination is None:
            wanted[connection].add(schema)
    missing: set[tuple[str, str]] = set()
    for name, schemas in wanted.items():
        with suppress(FlowError):  # the run reports a database that stops responding meanwhile
            found_missing = find_missing_schemas(resolve(stored[name]), schemas, timeout=TIMEOUT_SECONDS)
            missing.update((name, schema) for schema in found_missing)
    return missing


def _describe(connection: Connection, tables: set[TableName]) -> Mapping[TableName, SourceTable]:
    """Return the tables of a source; empty if it does not respond, which the run reports."""
    try:
        return describe_sources(resolve(connection), tables, timeout=TIMEOUT_SECONDS)
    except FlowError:
        return {}


def _table_of(source: Source) -> TableName | None:
    if source.connector != "postgres":
        return None
    table = config_of(source, PostgresConfig).table
    return TableName(table.schema_, table.name) if table is not None else None


def find(pipeline: ProjectPipeline, databases: Databases, *, has_loaded: bool) -> Findings:
    """Return the findings for a pipeline. `has_loaded` means that an incremental load has a watermark and reads an
    unknown part of its source."""
    document = pipeline.parsed.pipeline
    paths = [document.path_to(target) for target in document.targets()]
    tables = [change for path in paths if (change := _table_change(path, databases)) is not None]
    quarantines = {(known.connection, known.table): known for known in find_quarantines(document)}
    loaded = {path.target.connection for path in paths}
    changes = (_quarantine_change(known, databases, loaded) for known in quarantines.values())
    tables += [change for change in changes if change is not None]
    is_partial = has_loaded and any(load_mode(path.target.load_mode).keeps_watermark for path in paths)
    return Findings(
        tables,
        [*_connection_problems(pipeline, databases), *_table_problems(pipeline, databases)],
        None if is_partial else _estimate(document, databases),
    )


def _estimate(document: Pipeline, databases: Databases) -> int | None:
    loaded = (source for target in document.targets() for source in document.sources_of(target))
    sources = {source.id: _source_of(source, databases) for source in loaded}
    rows = [known.estimated_rows if known is not None else None for known in sources.values()]
    return sum(row for row in rows if row is not None) if rows and None not in rows else None


def _source_of(source: Source, databases: Databases) -> SourceTable | None:
    table = _table_of(source)
    return databases.sources.get((source.connection or "", table)) if table is not None else None


def _table_change(path: Path, databases: Databases) -> TableChange | None:
    target = path.target
    if not is_in_database(target):
        title = TARGET_CONNECTORS[target.connector].title
        return _change(target, [], [f"Plans do not read this {title}. The first load creates it if it does not exist."])
    location = (target.connection, target.schema_, target.table)
    if location not in databases.found.tables:
        return _change(target, [], [_why_unknown(target.connection, databases)])
    destination, notes = databases.found.tables[location], []
    fields = _fields(path, databases)
    if fields is None and destination is not None:
        fields = _stated_fields(path)
    try:
        has_schema = (target.connection, target.schema_) not in databases.no_schemas
        statements = [_statement(s) for s in plan_structure(target, destination, fields, has_schema=has_schema)]
    except Failure as failure:
        return _change(target, [], [f"{failure.message} {failure.hint}".strip()])
    if destination is None and not statements:
        notes.append("The first load creates the table from the columns of its rows, which are not known yet.")
    notes += _replacing(target, destination)
    return _change(target, statements, notes) if statements or notes else None


def _quarantine_change(quarantine: QuarantineTable, databases: Databases, loaded: Set[str]) -> TableChange | None:
    """Return how the table of rejected rows is created, or why that is unknown; None if it exists. If targets load
    tables over the same connection (`loaded`), the findings of their tables give the reason."""
    name, connection = TableName.parse(quarantine.table), quarantine.connection
    change = TableChange(
        node=quarantine.node, rows="rejected", connection=connection, table=str(name), statements=[], notes=[]
    )
    location = (connection, name.schema, name.table)
    if location not in databases.found.tables:
        note = _why_unknown(connection, databases)
        return None if connection in loaded else change.model_copy(update={"notes": [note]})
    if databases.found.tables[location] is not None:
        return None
    has_schema = (connection, name.schema) not in databases.no_schemas
    statements = [_statement(s) for s in plan_quarantine(name, has_schema=has_schema)]
    return change.model_copy(update={"statements": statements})


def _statement(planned: StructureStatement) -> Statement:
    by: Literal["flow", "you"] = "flow" if planned.by_load else "you"
    return Statement(sql=planned.text, lock=planned.lock, rewrites=planned.rewrites, by=by)


def _why_unknown(connection: str, databases: Databases) -> str:
    if reason := databases.found.silent.get(connection):
        return f"Unknown: the database did not answer: {reason}"
    return f"Unknown until the connection {connection} is stored."


def _replacing(target: Target, destination: Destination | None) -> list[str]:
    is_replaced = load_mode(target.load_mode).name == "blue_green"
    if destination is None or destination.replacing is None or not is_replaced:
        return []
    return [destination.replacing.sentence(f"{target.schema_}.{target.table}")]


def _fields(path: Path, databases: Databases) -> tuple[SourceField, ...] | None:
    known = _source_of(path.source, databases)
    if known is None:
        return None
    return fields_after(known.fields, [op for transform in path.transforms for op in transform.ops])


def _stated_fields(path: Path) -> tuple[SourceField, ...]:
    """Return the columns of the rows whose types the document states. There may be more."""
    columns = path.source.columns_after(Columns())
    for transform in path.transforms:
        columns = transform.columns_after(columns)
    stated = ((name, columns.types.get(name)) for name in columns.present)
    return tuple(SourceField(name, ColumnType.parse(kind)) for name, kind in stated if kind is not None)


def _change(target: Target, statements: list[Statement], notes: list[str]) -> TableChange:
    table = f"{target.schema_}.{target.table}"
    return TableChange(
        node=target.id, rows="loaded", connection=target.connection, table=table, statements=statements, notes=notes
    )


def _connection_problems(pipeline: ProjectPipeline, databases: Databases) -> Iterator[Problem]:
    for at, name, kinds in connection_references(pipeline.document):
        if kinds and databases.kind_of(name) not in kinds:
            yield Problem(
                code="connection.unknown",
                severity="error",
                message=f"There is no {' or '.join(kinds)} connection {name!r}, neither stored nor in flow.toml.",
                hint="Declare it in flow.toml, or add it in the workspace.",
                path=str(at),
            )


def _table_problems(pipeline: ProjectPipeline, databases: Databases) -> Iterator[Problem]:
    """Apply the rules that need the tables. Their results without tables are warnings of the project."""
    known = {(warning.code, warning.path) for warning in pipeline.parsed.warnings}
    try:
        parsed = parsePipelineIR(
            pipeline.document,
            destinations=databases.found.tables,
            allowances=databases.found.allowances,
            streaming=settings.FLOW_STREAMING_ENABLED,
        )
        diagnostics: Sequence[Any] = parsed.warnings
    except InvalidPipeline as error:
        diagnostics = error.diagnostics
    for found in diagnostics:
        if (found.code, found.path) not in known:
            yield Problem(
                code=found.code, severity=found.severity, message=found.message, hint=found.hint, path=str(found.path)
            )
