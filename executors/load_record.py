"""The record of a committed load: the columns of its commit marker, and a versioned JSON object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from executors.errors import Terminal
from executors.model import Backup, RuleCount, SourceField, SourceState
from executors.report import CheckReport, HookReport, NodeReport
from executors.schema_changes import SchemaChange
from ir.stored_json import StoredJson
from ir.types import ColumnType


@dataclass(frozen=True, slots=True)
class RunRef:
    """Identifies a load: one attempt at one target node. `tenant` is the workspace's UUID, `token` the fence token.
    `chunk` is the key of the chunk that a backfill loads, "" for other loads.

    `is_window` means that the load is a window of a stream, whose run commits many: each replaces the run's marker, and
    the state of the source in it says how far the target is."""

    run_id: str
    tenant: str
    pipeline: str
    node: str
    attempt: int
    token: int
    chunk: str = ""
    is_window: bool = False


@dataclass(frozen=True, slots=True)
class LoadFile:
    """A file of this load: its position in the source's order, its displayed name, and its SHA-256. The snapshot of a
    database is represented like a file but is not a load unit. `source` is its source node; `head` is the same if the
    load unites several sources, else ""."""

    seq: int
    name: str
    sha256: str
    is_unit: bool = True
    source: str = ""
    head: str = ""


class Loaded(NamedTuple):
    """The newest commit that includes a file: its token and its node, and whether it has deleted the file's rows."""

    token: int
    node: str
    is_undone: bool = False


class LoadKind(StrEnum):
    """The source of the rows of a load transaction: a source, the quarantine, or a backup. `undo` deletes the rows of a
    file; its marker names the file as done, so that no run loads it again without a request."""

    LOAD = "load"
    REPLAY = "replay"
    RESTORE = "restore"
    UNDO = "undo"


@dataclass(frozen=True, slots=True)
class SkippedRows:
    """Staged rows that are not loaded: rows below the bound, and rows at or above it that were loaded before and are
    read again, up to the value `highest`. `differing` counts the latter that were matched by their key and have other
    values than the table. `doubtful` counts rows that are loaded although the table may contain them with values
    changed by a trigger."""

    below_bound: int = 0
    read_again: int = 0
    highest: str | None = None
    differing: int = 0
    doubtful: int = 0

    @property
    def rows(self) -> int:
        return self.below_bound + self.read_again


NONE_SKIPPED = SkippedRows()


@dataclass(frozen=True, slots=True)
class LoadCounts:
    """Numbers of rows of a load. `staged = replaced + below the watermark + suppressed + loaded`, where `loaded =
    inserted + updated + unchanged`, and below the watermark are `below_bound + read_again`. Of the `suppressed` rows,
    `older` were not loaded because the table has newer ones; a trigger prevented the others. `ahead` of the inserted
    rows are dated after the database's clock, infinite or NaN. `SkippedRows` explains `differing` and `doubtful`.
    `deleted` rows of the table were deleted, because their source has deleted them; they are among those staged.
    `removed` rows were not among all rows of the source, and were deleted too."""

    staged: int = 0
    inserted: int = 0
    updated: int = 0
    unchanged: int = 0
    deleted: int = 0
    replaced: int = 0
    suppressed: int = 0
    older: int = 0
    below_bound: int = 0
    read_again: int = 0
    ahead: int = 0
    differing: int = 0
    doubtful: int = 0
    removed: int = 0
    quarantine_rows: int = 0
    quarantine_entries: int = 0

    @property
    def loaded(self) -> int:
        return self.inserted + self.updated + self.unchanged

    def node_fields(self) -> dict[str, int]:
        """Return the counts under the names of `NodeReport`."""
        names = ("staged", "inserted", "updated", "unchanged", "deleted", "replaced", "suppressed", "loaded")
        behind = self.below_bound + self.read_again
        return {
            "rows_out": self.loaded,
            "rows_behind_mark": behind,
            **{f"rows_{n}": getattr(self, n) for n in names},
        }


@dataclass(frozen=True, slots=True)
class InputCounts:
    """Numbers of rows before the load of a target, under the names of `NodeReport`."""

    rows_in: int = 0
    rows_read: int | None = None
    rows_exploded: int | None = None
    rows_filtered: int | None = None
    rows_elsewhere: int | None = None
    rows_grouped: int | None = None
    rows_rejected: int | None = None
    rows_rejected_here: int | None = None
    rows_warned: int | None = None


@dataclass(frozen=True, slots=True)
class TableIdentity:
    """Identifies a table by name and by oid. Schema and table survive a dump and restore, the oid survives a rename and
    a swap. `oid` is None where the table does not exist."""

    schema: str
    table: str
    oid: int | None


@dataclass(frozen=True, slots=True)
class WatermarkValue:
    """The watermark of an incremental target: a value, as text of the column's type."""

    column: str
    type: str
    value: str


@dataclass(frozen=True, slots=True)
class LoadedSource:
    """A source node whose rows were loaded. If a load united several, `files` are those of this one, and `fields` its
    columns, each with its type and whether its values are text; else the marker itself has both. `state` is the state
    of the source after the load, with which the next load begins."""

    source: str
    files: tuple[str, ...] = ()
    fields: tuple[tuple[str, str, bool], ...] = ()
    state: SourceState | None = None


@dataclass(frozen=True, slots=True)
class LoadFindings:
    """Results before the load: the nodes before the target, rules, checks, the tables that store rejected rows, and the
    fields of the source, which are needed to read those rows again. `sources` are the source nodes."""

    nodes: tuple[NodeReport, ...] = ()
    rules: tuple[RuleCount, ...] = ()
    checks: tuple[CheckReport, ...] = ()
    reject_tables: tuple[str, ...] = ()
    source_fields: tuple[SourceField, ...] = ()
    sources: tuple[LoadedSource, ...] = ()


@dataclass(frozen=True, slots=True)
class RestoreRecord:
    """The result of a restore. `run_id` is the run that took the backup. Files in `undone` no longer count as loaded,
    files in `redone` count as loaded again. The rows of files in `deleted` were deleted before the backup, so they are
    loaded on request only. `others` names other pipelines and targets whose rows the restore
    removed."""

    run_id: str
    rows_before: int
    undone: tuple[str, ...]
    redone: tuple[str, ...]
    others: tuple[str, ...]
    deleted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UndoRecord:
    """The file whose rows were deleted, and their numbers by the run that had written them."""

    sha256: str
    name: str
    rows_of_runs: Mapping[str, int]

    @property
    def rows(self) -> int:
        return sum(self.rows_of_runs.values())


@dataclass(frozen=True, slots=True)
class LoadRecord:
    """The content of a commit marker beside its columns: all that a later attempt needs to report the load as its own.
    `statements` are the statements of the load; `row_results` counts the rows of a replay by result. `schema_changes`
    are the changes of columns that the load has followed. `range_replaced` is the number of rows that a chunk of a
    rewind has replaced by its own, None for other loads; `range_left` is the number of rows of the range that it has
    left in the table, because a load mode with keys deletes none. `is_part` marks chunks of a history, after which a
    source has no state; `chunk` is the key of the chunk, `cursor_sum` the sum of the hashes of the cursor of its rows
    in the source, and `staged_bytes` their size in staging."""

    input: InputCounts = field(default_factory=InputCounts)
    nodes: tuple[NodeReport, ...] = ()
    rules: tuple[RuleCount, ...] = ()
    checks: tuple[CheckReport, ...] = ()
    hooks: tuple[HookReport, ...] = ()
    statements: tuple[str, ...] = ()
    backup: Backup | None = None
    superseded_entries: int = 0
    row_results: Mapping[str, int] = field(default_factory=dict)
    restore: RestoreRecord | None = None
    undo: UndoRecord | None = None
    sources: tuple[LoadedSource, ...] = ()
    schema_changes: tuple[SchemaChange, ...] = ()
    range_replaced: int | None = None
    range_left: int | None = None
    is_part: bool = False
    chunk: str = ""
    cursor_sum: str = ""
    staged_bytes: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the record with its version."""
        return _FORMAT.dump(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> LoadRecord:
        """Return the stored record. Raises Terminal `stored.version_unknown`."""
        return _FORMAT.load(stored)


_FORMAT = StoredJson("record of a load in flow_meta.load_commits", LoadRecord, 1, error=Terminal)


@dataclass(frozen=True, slots=True)
class LoadCommit:
    """The commit marker of one target, as stored in `flow_meta.load_commits` of the target database.

    `load_mode` is None unless rows were loaded. `watermark` is the target's watermark after an incremental load or a
    restore, `read_from` the bound from which the load read. `superseded_tables` contain rejected rows that the load
    superseded.
    """

    run_id: str
    node: str
    attempt: int
    table: TableIdentity
    token: int = 0
    kind: LoadKind = LoadKind.LOAD
    load_mode: str | None = None
    counts: LoadCounts = field(default_factory=LoadCounts)
    watermark: WatermarkValue | None = None
    read_from: str | None = None
    reject_tables: tuple[str, ...] = ()
    superseded_tables: tuple[str, ...] = ()
    source_fields: tuple[SourceField, ...] = ()
    record: LoadRecord = field(default_factory=LoadRecord)
    hooks_done: tuple[str, ...] = ()
    files_done: tuple[str, ...] = ()

    def files_of(self, source: str) -> tuple[str, ...]:
        """Return the files that this load has read from a source node."""
        known = {one.source: one.files for one in self.record.sources}
        if len(known) > 1:
            return known.get(source, ())
        return self.files_done if source in known or not known else ()

    def fields_of(self, source: str) -> tuple[SourceField, ...]:
        """Return the columns of a source node, if this load has read it."""
        if len(self.record.sources) < 2:
            return self.source_fields if source in {one.source for one in self.record.sources} else ()
        found = (one.fields for one in self.record.sources if one.source == source)
        return tuple(SourceField(name, ColumnType.parse(kind), as_text) for name, kind, as_text in next(found, ()))

    @property
    def node_counts(self) -> dict[str, int | None]:
        """The counts of the target under the names of `NodeReport`."""
        return {**asdict(self.record.input), **self.counts.node_fields()}

    @property
    def node_report(self) -> NodeReport:
        counts: dict[str, Any] = self.node_counts
        return NodeReport(self.node, "target", **counts)
