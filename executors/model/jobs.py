"""What a run works on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from executors.backfill.model import BackfillMark, ChunkJob, ChunkRange
from executors.model.connections import Connection, StoreConnection, WebhookConnection
from executors.model.modules import ModuleCode
from ir.pipeline import Pipeline

if TYPE_CHECKING:
    from executors.holding import StagedLoad


@dataclass(frozen=True, slots=True)
class BackupRef:
    """Identifies a backup: the one taken before this run loaded this target node."""

    run_id: str
    node: str


@dataclass(frozen=True, slots=True)
class FileUndo:
    """The file whose rows a run deletes. `rows` maps the target nodes to the numbers of rows that were shown to the
    user, who confirmed them."""

    sha256: str
    name: str
    reason: str
    rows: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Backup:
    """A snapshot of a target taken before a load, as the commit marker describes it."""

    run_id: str
    node: str
    schema: str
    table: str
    rows: int


@dataclass(frozen=True, slots=True)
class RowsRef:
    """The rejected rows of one target node that a run works on. `tables` holds (schema, table, entry ids), one id per
    row.

    `row_from` is `source` (values as read from the source) or `input` (values as they reached the node). `overwrite`
    lists rows, as `run:row`, that may replace target rows with the same key; ids are unique only within one table.
    `hashes` maps (run, name) to the SHA-256 of the file, where known. `column` and `expression` define the value that a
    fixing run computes; `by` is the user who requested the run. `revisions`, if given, are the revisions of the entries
    at the time of the request: the run skips rows that changed since. A fixing run keeps manually edited values unless
    `replaces_typed` is set. `computed_by` lists the runs that computed this column before.
    """

    node: str
    row_from: str
    tables: Sequence[tuple[str, str, Sequence[int]]]
    overwrite: frozenset[str] = frozenset()
    hashes: Mapping[tuple[str, str], str] = field(default_factory=dict)
    column: str = ""
    expression: str = ""
    by: str = ""
    reason: str = ""
    revisions: Sequence[Sequence[int]] = ()
    replaces_typed: bool = False
    computed_by: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class SourceState:
    """How far a source has been read, as the source itself describes it in `value`. `settings` is a digest of the
    settings that the state belongs to: with other settings it has no meaning. `columns` are the names and types of the
    columns so far: new records need not have all of them."""

    settings: str
    value: str
    columns: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class RunJob:
    """One attempt at one run. `token` is the fence token of this attempt, `tenant` the UUID of the workspace.

    `connections` are databases, `stores` stores of files, both by the name that nodes refer to. `webhooks` are the
    connections that hooks refer to. `waited` counts how often the run has waited for files; None
    means that it cannot wait (inline runs). `backup` identifies the backup that a restore uses, `rows` the rejected
    rows that the run works on, `undo` the file whose rows it deletes. `approved` maps targets to loads that earlier
    attempts staged and a person has approved. `only_targets` are the targets that a load is for; all if there are none.
    `modules` are those of custom transforms, by the text with which documents name them. `accepted_changes` are the IDs
    of the changes of columns that a person has accepted, by target, `rejected_changes` of those that one has rejected.
    `taps` is the folder of the installed Singer taps.
    `chunk` is the chunk of a backfill that the run loads; `chunk_range` is the range for which a rewind plans chunks,
    and `backfill_mark` what the end of a backfill stores in the target. `is_window` means that the run is a stream,
    and the job one of its windows.
    """

    run_id: str
    tenant: str
    pipeline: Pipeline
    version: int
    attempt: int
    token: int
    connections: Mapping[str, Connection]
    files_folder: Path
    waited: int | None = None
    webhooks: Mapping[str, WebhookConnection] = field(default_factory=dict)
    backup: BackupRef | None = None
    rows: RowsRef | None = None
    undo: FileUndo | None = None
    approved: Mapping[str, StagedLoad] = field(default_factory=dict)
    only_targets: frozenset[str] = frozenset()
    stores: Mapping[str, StoreConnection] = field(default_factory=dict)
    modules: Mapping[str, ModuleCode] = field(default_factory=dict)
    accepted_changes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    rejected_changes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    taps: Path | None = None
    chunk: ChunkJob | None = None
    chunk_range: ChunkRange | None = None
    backfill_mark: BackfillMark | None = None
    is_window: bool = False
