"""The input of the engine, and the data that its parts exchange. Plain data; no Django, no Spark, no drivers."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from executors.backfill.model import BackfillMark as BackfillMark
from executors.backfill.model import Chunk as Chunk
from executors.backfill.model import ChunkChange as ChunkChange
from executors.backfill.model import ChunkJob as ChunkJob
from executors.backfill.model import ChunkPlan as ChunkPlan
from executors.backfill.model import ChunkRange as ChunkRange
from executors.backfill.model import LoadedChunk as LoadedChunk
from ir.allowances import Allowance
from ir.destinations import Destination as Destination
from ir.destinations import DestinationColumn as DestinationColumn
from ir.names import parse_table_name
from ir.pipeline import Pipeline
from ir.types import ColumnType

if TYPE_CHECKING:
    from executors.holding import StagedLoad


MODULE_BYTES = 24 << 20
"""The largest WebAssembly module that can be stored, in bytes."""


@dataclass(frozen=True, slots=True)
class ModuleCode:
    """The bytes of a WebAssembly module, which are those of its hash."""

    name: str
    sha256: str
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class ModuleFacts:
    """What a module is. `imports` are the functions that it imports, `may_use` the kinds of access that these functions
    could use."""

    kind: str
    sha256: str
    size: int
    imports: tuple[str, ...]
    may_use: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Connection:
    """A resolved PostgreSQL connection. `repr` omits the password.

    `allowed_functions` (schema.name) are the functions that an admin allows in user-written queries. With
    `allows_server_rights`, these queries may run as a superuser or a role with similar rights.
    """

    name: str
    host: str
    port: int
    database: str
    user: str
    password: str = field(default="", repr=False)
    sslmode: str = "prefer"
    allowed_functions: tuple[str, ...] = ()
    allows_server_rights: bool = False

    @property
    def allowance(self) -> Allowance:
        return Allowance(frozenset(map(parse_table_name, self.allowed_functions)))


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
class WebhookConnection:
    """A resolved webhook connection. `repr` omits the headers, the signing secret and the URL, whose path may be
    secret.
    """

    name: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    secret: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class StoreConnection:
    """A resolved connection to a store of files, such as a bucket. `settings` are its public fields by their names in
    documents; `repr` omits the secrets."""

    name: str
    kind: str
    settings: Mapping[str, Any]
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)


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
    and `backfill_mark` what the end of a backfill stores in the target.
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


# --- files -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A matched file. `seq` is its position in the order of the source; `name` is relative to the workspace's folder.

    `path` is its address for the connector. `inode` and `ctime_ns` distinguish the file from a later file at the same
    path. `version` is the store's version of the content, such as an ETag; None if the connector has none. A scan sets
    `records`, and `first_line` (the line of record 1) if every record takes exactly one line; else `first_line` is
    None. It also sets `columns`: the name and type of each column, in the order of the file. The type is "" if no
    value determines it. `member` says where the bytes are if the file is in a ZIP archive: then `size` is the size of
    the unpacked file, and `path` is only a label. `fingerprint` identifies the bytes without reading them; it is empty
    unless the store guarantees that.
    """

    seq: int
    path: str
    name: str
    size: int
    mtime_ns: int
    records: int | None = None
    first_line: int | None = None
    inode: int | None = None
    ctime_ns: int | None = None
    version: str | None = None
    columns: tuple[tuple[str, str], ...] | None = None
    member: ArchiveMember | None = None
    fingerprint: str = ""

    @property
    def stored(self) -> SourceFile:
        """The file that the connector has listed: the archive of a member, else the file itself."""
        return self.member.archive if self.member else self

    def without_change_time(self) -> SourceFile:
        """Return the same file for comparisons that ignore when its permissions or links changed."""
        if self.member is None:
            return replace(self, ctime_ns=None)
        return replace(self, member=replace(self.member, archive=self.member.archive.without_change_time()))

    @classmethod
    def found(cls, seq: int, path: str, name: str, status: os.stat_result) -> SourceFile:
        """Build the entry of a file from its file system metadata."""
        size, modified, changed = status.st_size, status.st_mtime_ns, status.st_ctime_ns
        return cls(seq, path, name, size, modified, inode=status.st_ino, ctime_ns=changed)

    def is_same(self, now: SourceFile) -> bool:
        """Return whether the file now at this path is the same file, unchanged, as far as the known metadata shows."""
        if (self.size, self.mtime_ns) != (now.size, now.mtime_ns):
            return False
        return all(
            known in (None, found_now)
            for known, found_now in (
                (self.inode, now.inode),
                (self.ctime_ns, now.ctime_ns),
                (self.version, now.version),
            )
        )


@dataclass(frozen=True, slots=True)
class ArchiveMember:
    """A file in a ZIP archive: the archive as it was listed, and from its directory where the local header of the file
    begins, the size of its stored bytes, their compression method and the CRC-32 of the unpacked bytes."""

    archive: SourceFile
    offset: int
    stored_size: int
    method: int
    crc: int


@dataclass(frozen=True, slots=True)
class NewestFile:
    """The newest file that a source has loaded. `mtime_ns` is in nanoseconds since 1970."""

    name: str
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class SourceField:
    """A column as the source provides it. `as_text` means that values arrive as text and are parsed when needed;
    `only_null` means that no value determines the type.
    """

    name: str
    type: ColumnType
    as_text: bool = False
    only_null: bool = False


@dataclass(frozen=True, slots=True)
class Split:
    """A part of a file that one task reads: bytes `[start, end)`, or row groups for columnar formats.

    `first_record` is the 1-based number of its first data record in the file, `checksums` are those of the whole file
    (`formats.verified`), None if nobody has read all of it: then its bytes are not compared.
    """

    file: SourceFile
    sha256: str
    start: int
    end: int
    first_record: int
    records: int
    checksums: bytes | None = b""


@dataclass(frozen=True, slots=True)
class FileScan:
    """The result of scanning a file's bytes once. A blank file has no records and no column names; its fields are the
    declared ones.
    """

    file: SourceFile
    sha256: str
    records: int
    fields: tuple[SourceField, ...]
    splits: tuple[Split, ...]
    warnings: tuple[str, ...] = ()
    first_line: int | None = None
    is_blank: bool = False

    def scanned_file(self) -> SourceFile:
        """Return the file with the results of the scan."""
        return replace(self.file, records=self.records, first_line=self.first_line, columns=self.columns)

    @property
    def columns(self) -> tuple[tuple[str, str], ...] | None:
        """The columns of the file as in `SourceFile`; None for a blank file, which has none."""
        if self.is_blank:
            return None
        return tuple((field.name, "" if field.only_null else str(field.type)) for field in self.fields)

    def with_checksums(self, checksums: bytes | None) -> FileScan:
        """Return the file marked so that readers verify every byte, or none."""
        return replace(self, splits=tuple(replace(split, checksums=checksums) for split in self.splits))


# --- the one pass ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StageColumn:
    """A column of staging: the working column it comes from, the type it must reach, and whether '' becomes NULL.
    `is_native` says that values come in the very type of PostgreSQL that the target's column has."""

    name: str
    type: ColumnType
    nullable: bool = True
    max_length: int | None = None
    empty_as_null: bool = True
    is_native: bool = False


@dataclass(frozen=True, slots=True)
class RulePlan:
    """A row rule, bound to its validate node. `rule` is the typed rule of `ir.rules`.

    `applies` names the frame column that holds the result of the rule's `when`; `value` names the one that holds the
    result of an `expression` rule's condition.
    """

    node: str
    rule_id: str
    rule: Any
    applies: str | None = None
    value: str | None = None


@dataclass(frozen=True, slots=True)
class RecordRef:
    """The position of a row in its source: file (its position in the source's order) and record number, as scanned."""

    file: int
    record: int


@dataclass(frozen=True, slots=True)
class RuleCount:
    """How often one rule was violated, among the rows that it `evaluated` (explicit rules only). `first` holds up to 20
    positions in source order, for rules that may end the run. `message` describes the violation without row values.

    Implicit rules have ids of their own: `type:<column>`, `notNull:<column>`, `length:<column>`, `text:<column>` (NUL
    or broken UTF-8), `order:<column>` (rows of a key of which none is the last), `row` (a record the format cannot
    read). A row for which an expression fails violates `expression:<column>`, or `expression` if the column is unknown.
    The first such row ends its run; no others are searched, stored or counted.
    """

    node: str
    rule_id: str
    type: str
    field: str | None
    on_fail: str
    violations: int
    first: tuple[RecordRef, ...] = ()
    message: str = ""
    evaluated: int | None = None


@dataclass(frozen=True, slots=True)
class TaskCount:
    """The counts of one sink task. `task` is Spark's taskAttemptId, which all its staged and rejected rows carry.

    `dropped_at` counts rejected rows by the first node on the path (source, transform and validate nodes in order, then
    the target) with a rule that rejected them. `filtered_at` counts filtered rows by node. `matched_at` and
    `unmatched_at` count looked-up rows of joins, by `join_key`. `elsewhere_at` counts the rows that go to other
    branches of a node, `routed_at` the rows of each branch, by `branch_key`. `grouped_at` is the number
    of rows in the groups of aggregates minus the number of groups; the groups report the same number as `in_groups`.
    `rows_read` and `parts_read` come from readers that count what they read. `source` is the source node whose rows
    the task has read, if rows of several sources are united. `rows_exploded` is the number of exploded
    rows minus the number of their records; a rejected record adds none, because it counts as one row everywhere.
    """

    task: int
    rows_arrived: int
    rows_staged: int
    rows_rejected: int
    rows_warned: int
    rules: tuple[RuleCount, ...]
    dropped_at: Mapping[str, int] = field(default_factory=dict)
    filtered_at: Mapping[str, int] = field(default_factory=dict)
    matched_at: Mapping[str, int] = field(default_factory=dict)
    unmatched_at: Mapping[str, int] = field(default_factory=dict)
    rows_read: int = 0
    parts_read: int = 0
    elsewhere_at: Mapping[str, int] = field(default_factory=dict)
    routed_at: Mapping[str, int] = field(default_factory=dict)
    grouped_at: Mapping[str, int] = field(default_factory=dict)
    in_groups: int = 0
    rows_exploded: int = 0
    source: str = ""


@dataclass(frozen=True, slots=True)
class ReferenceRead:
    """The reference that a join read. `name` is the displayed name of the file or table, or the number of files.
    `identity` is the SHA-256 of the file, of all files together, or of the database's snapshot. `rows` is None if the
    rows were not counted."""

    name: str
    identity: str
    rows: int | None = None


def join_key(node: str, reference: str) -> str:
    """Return the name of a join in counts. The references of one node differ."""
    return f"{node}/{reference}"


def branch_key(node: str, reader: str) -> str:
    """Return the name of a branch in counts; the node that it leads to identifies it."""
    return f"{node}/{reader}"


@dataclass(frozen=True, slots=True)
class PassResult:
    """The counts of the tasks whose output counts, and what the joins read, by the id of the reference."""

    tasks: tuple[TaskCount, ...]
    references: Mapping[str, ReferenceRead] = field(default_factory=dict)

    @property
    def winners(self) -> list[int]:
        return [t.task for t in self.tasks]

    def of(self, source: str) -> PassResult:
        """Return the counts of the tasks that have read the rows of a source."""
        return replace(self, tasks=tuple(task for task in self.tasks if task.source == source))

    def total(self, name: str) -> int:
        return sum(getattr(t, name) for t in self.tasks)

    def at_nodes(self, name: str) -> Counter[str]:
        """Sum `dropped_at`, `filtered_at` or the like of all tasks by node."""
        return sum((Counter(getattr(t, name)) for t in self.tasks), Counter())
