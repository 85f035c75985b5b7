"""The record of a committed load: the columns of its commit marker, and a versioned JSON object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from executors.errors import Terminal
from executors.model import Backup, CheckReport, HookReport, NodeReport, RuleCount, SourceField
from ir.stored_json import StoredJson


@dataclass(frozen=True, slots=True)
class RunRef:
    """Who loads: one attempt at one target node. `tenant` is the workspace's UUID, `token` the fence token."""

    run_id: str
    tenant: str
    pipeline: str
    node: str
    attempt: int
    token: int


class Loaded(NamedTuple):
    """The newest commit that holds a file: its token and its node."""

    token: int
    node: str


class LoadKind(StrEnum):
    """What a load transaction did: loaded rows from a source, rows from quarantine, or the rows of a backup."""

    LOAD = "load"
    REPLAY = "replay"
    RESTORE = "restore"


@dataclass(frozen=True, slots=True)
class SkippedRows:
    """Staged rows that are not loaded: those below the bound, and those at or above it that were loaded before and are
    read again, up to the value `highest`. `differing` of these were known by their key and have other values than the
    table; `doubtful` rows are loaded, and the table may hold them with values that a trigger has changed."""

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
    """Rows of a load. `staged = replaced + below the watermark + suppressed + loaded`, with `loaded = inserted +
    updated + unchanged` and, below the watermark, what is below the bound and what was read again. `older` of the
    `suppressed` rows stayed out because the table holds newer ones; a trigger swallowed the others. `ahead` of the
    inserted rows are dated after the database's clock, or not a number; `differing` and `doubtful` are those of
    `SkippedRows`."""

    staged: int = 0
    inserted: int = 0
    updated: int = 0
    unchanged: int = 0
    replaced: int = 0
    suppressed: int = 0
    older: int = 0
    below_bound: int = 0
    read_again: int = 0
    ahead: int = 0
    differing: int = 0
    doubtful: int = 0
    quarantine_rows: int = 0
    quarantine_entries: int = 0

    @property
    def loaded(self) -> int:
        return self.inserted + self.updated + self.unchanged

    def node_fields(self) -> dict[str, int]:
        """The counts under the names of `NodeReport`."""
        names = ("staged", "inserted", "updated", "unchanged", "replaced", "suppressed", "loaded")
        behind = self.below_bound + self.read_again
        return {
            "rows_out": self.loaded,
            "rows_behind_mark": behind,
            **{f"rows_{n}": getattr(self, n) for n in names},
        }


@dataclass(frozen=True, slots=True)
class InputCounts:
    """Rows on their way to a target, before its load, under the names of `NodeReport`."""

    rows_in: int = 0
    rows_read: int | None = None
    rows_filtered: int | None = None
    rows_elsewhere: int | None = None
    rows_rejected: int | None = None
    rows_rejected_here: int | None = None
    rows_warned: int | None = None


@dataclass(frozen=True, slots=True)
class TableIdentity:
    """A table by both of its names: a dump that is restored keeps schema and table, a table that is renamed keeps the
    oid, and one that took the place of another keeps the oid of that one. `oid` is None where there is no table."""

    schema: str
    table: str
    oid: int | None


@dataclass(frozen=True, slots=True)
class WatermarkValue:
    """Where an incremental target goes on: a value, as text of the column's type."""

    column: str
    type: str
    value: str


@dataclass(frozen=True, slots=True)
class LoadFindings:
    """What was found before the load: the nodes before the target, rules, checks, the tables that keep the rejected
    rows, and the fields of the source, by which those rows can be read again."""

    nodes: tuple[NodeReport, ...] = ()
    rules: tuple[RuleCount, ...] = ()
    checks: tuple[CheckReport, ...] = ()
    reject_tables: tuple[str, ...] = ()
    source_fields: tuple[SourceField, ...] = ()


@dataclass(frozen=True, slots=True)
class RestoreRecord:
    """What a restore did. `run_id` took the backup; files that are `undone` do not count as loaded any more, and those
    that are `redone` do again; `others` are pipelines and targets whose rows went with it."""

    run_id: str
    rows_before: int
    undone: tuple[str, ...]
    redone: tuple[str, ...]
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LoadRecord:
    """What a commit marker keeps beside its columns: all that a later attempt needs to report the load as if it were
    its own. `statements` are what the load sent, `row_results` how many rows of a replay had which result."""

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

    def to_json(self) -> dict[str, Any]:
        """The record with its version."""
        return _FORMAT.dump(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> LoadRecord:
        """The record as it was stored. Raises Terminal `stored.version_unknown`."""
        return _FORMAT.load(stored)


_FORMAT = StoredJson("record of a load in flow_meta.load_commits", LoadRecord, 1, error=Terminal)


@dataclass(frozen=True, slots=True)
class LoadCommit:
    """The commit marker of one target, as it stands in `flow_meta.load_commits` of the target database.

    `load_mode` is None for a restore. `watermark` is where an incremental load or a restore has left the target,
    `read_from` the bound from which the load has read. `superseded_tables` hold rejected rows that the load has closed.
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

    @property
    def node_counts(self) -> dict[str, int | None]:
        """The counts of the target under the names of `NodeReport`."""
        return {**asdict(self.record.input), **self.counts.node_fields()}

    @property
    def node_report(self) -> NodeReport:
        counts: dict[str, Any] = self.node_counts
        return NodeReport(self.node, "target", **counts)
