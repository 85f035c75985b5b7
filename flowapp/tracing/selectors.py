"""Find a row by the values of some columns: in its target's table, in rejected rows and in stored samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from uuid import UUID

from django.db.models import Sum

from executors.target_database import (
    SAMPLES_RETENTION_DAYS,
    LoadedRow,
    Owner,
    Row,
    RowSearch,
    RowTrace,
    SearchResult,
    SourceKey,
    TableName,
    trace_row_of_lake,
)
from executors.target_database import trace_row as search_row
from flowapp.backfills.selectors import describe_chunk_of
from flowapp.connections.selectors import get_connection
from flowapp.connections.services import resolve
from flowapp.connections.stores import resolve_store
from flowapp.connections.target_databases import is_in_database
from flowapp.pipelines.documents import read_document
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.selectors import get_version
from flowapp.pipelines.summaries import quarantines_of
from flowapp.quarantine.reject_tables import reject_tables_of
from flowapp.runs.load_units.models import LoadUnit
from flowapp.runs.models import SOURCE_LOADS, NodeRun, Run, RunKind
from flowapp.runs.rule_names import names_of
from ir.errors import FlowError
from ir.lineage import Lineage, lineages_of
from ir.nodes import Target
from ir.pipeline import Path
from ir.pipeline import Pipeline as Document
from ir.quarantines import rejects_connection

MOST_COLUMNS = 10
RECENT_LOADS = 10
EXCLUDED = {
    "rows_filtered": "filtered out",
    "rows_elsewhere": "sent to other branches",
    "rows_grouped": "made into groups with other rows; a group is searched by the columns that it is grouped by",
    "rows_replaced": "replaced by later rows of the same key",
    "rows_deleted": "deleted, because their source has deleted them",
    "rows_behind_mark": "below the watermark",
    "rows_suppressed": "older than the table's row, or suppressed by a trigger",
    "rows_rejected": "rejected",
}
"""The reasons why rows are not in a target, by the name of their count."""


@dataclass(frozen=True, slots=True)
class FoundRow:
    """A row, or a rejection of it, that was found. `run` is None if this workspace has no such run."""

    values: Row
    run: Run | None = None
    run_id: str = ""
    file: str = ""
    sha256: str = ""
    record: int | None = None
    entry: Row = field(default_factory=dict)

    @property
    def backfill(self) -> str:
        """The chunk of a backfill that the run has loaded, with the reason if it was loaded again; "" otherwise."""
        return describe_chunk_of(self.run) if self.run is not None and self.run.kind == RunKind.CHUNK else ""


@dataclass(frozen=True, slots=True)
class SearchedLocation:
    """A location that was searched: its description, what was found there, and why it could not be searched, if so."""

    what: str
    kind: str
    found: tuple[FoundRow, ...] = ()
    has_more: bool = False
    trouble: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class TargetTrace:
    """The results for the row at one target. `excluded` describes how many rows recent loads did not load, by
    reason."""

    node: str
    locations: tuple[SearchedLocation, ...]
    excluded: tuple[tuple[str, int], ...] = ()

    @property
    def is_found(self) -> bool:
        return any(location.found for location in self.locations)

    @property
    def is_sure(self) -> bool:
        """Whether the row is certainly absent if nothing was found."""
        return not any(location.trouble for location in self.locations)


def list_targets(pipeline: Pipeline) -> list[tuple[Target, list[str]]]:
    """List the targets of the newest version with the columns that can identify a row, the columns of the key first."""
    document = _document(pipeline)
    lineages = {lineage.target: lineage for lineage in lineages_of(document)}
    return [(target, _columns(target, lineages[target.id])) for target in document.targets()]


def _columns(target: Target, lineage: Lineage) -> list[str]:
    declared = [column.name for column in target.columns or ()]
    return list(dict.fromkeys([*(target.upsert_key or ()), *declared, *lineage.columns]))


def trace_row(pipeline: Pipeline, key: Mapping[str, str], node: str = "") -> list[TargetTrace]:
    """Search for rows with these values at one target or at all. Raises FlowError for an invalid key or node."""
    if not 1 <= len(key) <= MOST_COLUMNS:
        raise FlowError(
            "trace.key_required",
            f"Enter 1 to {MOST_COLUMNS} columns to search by.",
            hint="Enter the columns of the key with their values.",
        )
    document = _document(pipeline)
    wanted = [target for target in document.targets() if node in ("", target.id)]
    if not wanted:
        raise FlowError(
            "node.unknown",
            f"Pipeline {pipeline.slug} has no target {node!r} in its newest version.",
            hint=f"Targets: {', '.join(target.id for target in document.targets())}.",
        )
    return [_trace(pipeline, document, target, key) for target in wanted]


def _document(pipeline: Pipeline) -> Document:
    return read_document(get_version(pipeline).document)


def _trace(pipeline: Pipeline, document: Document, target: Target, key: Mapping[str, str]) -> TargetTrace:
    table, reject_tables = TableName(target.schema_, target.table), _quarantines(pipeline, document, target)
    owner, at_source = Owner(str(pipeline.workspace_id), pipeline.slug), _source_keys(document, target, key)
    grouped_by = _grouped_by(document, target)
    at_table = {name: value for name, value in key.items() if name in grouped_by} or key
    search = RowSearch(owner, target.id, table, at_table, at_source, reject_tables)
    trace = _search(pipeline, target, rejects_connection(document, target), search)
    describe = _Describing(pipeline)
    note = "" if at_source else "Only by file and record, because the pipeline computes the key."
    groups = f"The rows are groups by {', '.join(grouped_by)}; shown are those with these values." if grouped_by else ""
    rows = describe.location(f"table {table}", "table", trace.table, describe.row, groups)
    rejects = [
        describe.location(f"rejected rows in {table_name}", "rejects", found, describe.entry, note)
        for table_name, found in zip(reject_tables, trace.rejects, strict=True)
    ]
    what = f"samples of recent loads, stored {SAMPLES_RETENTION_DAYS} days"
    samples = [describe.location(what, "samples", trace.samples, describe.sample)] if is_in_database(target) else []
    return TargetTrace(target.id, (rows, *rejects, *samples), tuple(_excluded(pipeline, target)))


def _search(pipeline: Pipeline, target: Target, rejects: str | None, search: RowSearch) -> RowTrace:
    """Search the table of a target, and its rejected rows over the connection `rejects`."""
    workspace = pipeline.workspace
    database = resolve(get_connection(workspace, rejects)) if rejects is not None else None
    if database is not None and is_in_database(target):
        return search_row(database, search)
    return trace_row_of_lake(resolve_store(get_connection(workspace, target.connection)), database, search)


def _grouped_by(document: Document, target: Target) -> list[str]:
    """Return the columns of the target that identify the groups which an aggregate makes of the rows; none if none
    does."""
    path = document.path_to(target)
    if not any(transform.aggregates for transform in path.transforms):
        return []
    (lineage,) = (one for one in lineages_of(document) if (one.source, one.target) == (path.source.id, target.id))
    return [name for name, trace in lineage.columns.items() if not any(step.startswith("=") for step in trace.steps)]


def _source_keys(document: Document, target: Target, key: Mapping[str, str]) -> list[SourceKey]:
    """Return the key in the columns of each source, with the id of the source if there are several. A source is left
    out if a column of the key is not an unchanged column of it."""
    paths = document.paths_to(target)
    keys = [(path.source.id if len(paths) > 1 else "", _source_key(document, path, key)) for path in paths]
    return [(source, found) for source, found in keys if found]


def _source_key(document: Document, path: Path, key: Mapping[str, str]) -> dict[str, str] | None:
    """Return the key in the source's columns; None if a column of the key is not an unchanged column of the source.
    Columns that groups do not have are those of the source."""
    target = path.target
    (lineage,) = (one for one in lineages_of(document) if (one.source, one.target) == (path.source.id, target.id))
    is_grouped = any(transform.aggregates for transform in path.transforms)
    found = {}
    for name, value in key.items():
        trace = lineage.columns.get(name)
        if trace is None and (is_grouped or (lineage.has_others and not lineage.is_opaque)):
            found[name] = value
        elif trace is not None and len(trace.sources) == 1 and not any(step.startswith("=") for step in trace.steps):
            found[trace.sources[0]] = value
        else:
            return None
    return found


def _quarantines(pipeline: Pipeline, document: Document, target: Target) -> list[TableName]:
    """Return the quarantine tables on the path to the target, and those of older versions in the same database."""
    database = rejects_connection(document, target)
    quarantines = (node.quarantine for node in document.path_to(target).validates)
    here = [TableName.parse(k.table) for k in quarantines if k and k.enabled and k.table]
    now = {(connection, TableName.parse(table)) for connection, table in quarantines_of(document)}
    locations = [
        (location.connection, location.table) for location in reject_tables_of(pipeline.workspace, pipeline, None)
    ]
    older = [table for connection, table in locations if connection == database]
    return list(dict.fromkeys([*here, *(table for table in older if (database, table) not in now)]))


class _Describing:
    """Adds the run and the file to the rows that were found at one target."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._run = cache(self._find_run)
        self._file = cache(self._find_file)
        self._rule = cache(self._find_rule_name)

    def location(
        self, what: str, kind: str, found: SearchResult, as_found: Callable[[Row], FoundRow], note: str = ""
    ) -> SearchedLocation:
        notes = " ".join(filter(None, (note, _lack(found))))
        return SearchedLocation(what, kind, tuple(map(as_found, found.rows)), found.has_more, found.trouble, notes)

    def row(self, row: Row) -> FoundRow:
        loaded = LoadedRow.of(row)
        run, file = self._run(loaded.run_id), self._file(loaded.sha256)
        return FoundRow(loaded.values, run, loaded.run_id, file, loaded.sha256, loaded.record)

    def entry(self, row: Row) -> FoundRow:
        rejection = {name: value for name, value in row.items() if name != "row"}
        rejection["ruleName"] = self._rule(row["runId"], row["ruleId"])
        run_id, file = row["runId"], row["sourceFile"] or ""
        return FoundRow(row["row"], self._run(run_id), run_id, file, "", row["sourceRecord"], rejection)

    def sample(self, row: Row) -> FoundRow:
        run_id = row["run_id"]
        return FoundRow(row["row"], self._run(run_id), run_id, row["source_file"] or "", "", row["source_record"])

    def _find_run(self, run_id: str) -> Run | None:
        try:
            key = UUID(run_id)
        except ValueError:
            return None
        return Run.objects.filter(workspace=self._pipeline.workspace_id, pk=key).select_related("pipeline").first()

    def _find_rule_name(self, run_id: str, rule: str) -> str:
        return names_of(self._pipeline.workspace, [run_id], [rule]).get(rule, rule)

    def _find_file(self, sha256: str) -> str:
        if not sha256:
            return ""
        units = LoadUnit.objects.filter(workspace=self._pipeline.workspace_id, sha256=sha256)
        names = units.order_by("created_at").values_list("name", flat=True)
        return names.first() or ""


def _lack(found: SearchResult) -> str:
    if not found.lacks:
        return ""
    return (
        f"The table has no column {', '.join(found.lacks)}, so the origin of its rows is incomplete. Tables that Flow "
        "creates have these columns. Add them to this table, and the next loads fill them."
    )


def _excluded(pipeline: Pipeline, target: Target) -> Iterable[tuple[str, int]]:
    """Only loads count: a replay rejects rows that a load has already rejected."""
    loads = Run.objects.filter(pipeline=pipeline, kind__in=SOURCE_LOADS).order_by("-queued_at")
    recent = list(loads.values_list("pk", flat=True)[:RECENT_LOADS])
    nodes = NodeRun.objects.filter(run__in=recent, node=target.id)
    sums = nodes.aggregate(**{name: Sum(name) for name in EXCLUDED})
    return [(words, sums[name]) for name, words in EXCLUDED.items() if sums[name]]
