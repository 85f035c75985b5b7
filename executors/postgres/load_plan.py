"""The input and output of a load transaction, and the SQL that load modes share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from psycopg import sql

from executors.changes import ChangesRead
from executors.load_record import (
    NONE_SKIPPED,
    InputCounts,
    LoadCounts,
    LoadFile,
    LoadFindings,
    RunRef,
    SkippedRows,
    WatermarkValue,
)
from executors.model import Destination, DestinationColumn, StageColumn
from executors.postgres.ddl import Conn
from executors.postgres.incremental_range import IncrementalRange
from executors.postgres.replacing import ReplacedRange
from executors.postgres.staging import StagingTables, is_winner, list_task_tables, task_table
from executors.rejected_rows import RowPosition
from executors.rejects import INPUT
from executors.report import HookReport
from executors.schema_changes import SchemaChange
from executors.stage_plan import FILE, FILLED, FLOW_RUN, RECORD, SOURCE_FILE_HASH, SOURCE_RECORD
from executors.table_name import TableName
from executors.types import wire_type


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """One load of one target.

    `staged` and `rejected` are the numbers of rows reported by the winning tasks, adjusted for rows refused since. Of
    rows with the same `upsert_key`, the last by `order_by` is loaded, else the last in source order if the source
    `keeps_order`. A row that is older by `order_by` than the table's row is not loaded. `is_exploded` means that
    a record can have several rows, which have no order. `quarantine` maps nodes to the
    table (`schema.name`) that stores their rejected rows. Load modes with a swap call `before_swap` when the rows are
    ready and before they lock anything of the table. `input`, `findings` and the result of `hooks_ran` after the load
    go into the marker. `settings` apply to the transaction. `rows_range` says where an incremental load begins; the
    `skipped` rows below it are no longer in staging or in `staged`. `before_change` is called before the first
    statement that changes the table; `backs_up` means that a backup is taken first. For a replay, `after_load` replaces
    the storage of rejects. `may_replace` lists the only staged rows that may update rows of the table; None means all.
    Refused rows are stored in the form `row_form`. `united` are the source nodes of the target if it has several.
    `dest` is the table after the `changes` of its columns, which the load makes in its transaction. `followed` are the
    changes of a followed table, of which the staged rows are a part. `replaced` are rows that are deleted before others
    are added. `is_part` marks chunks of a history, `cursor_sum` is what their source says of the rows that it has read.
    """

    run: RunRef
    dest: Destination
    columns: Sequence[StageColumn]
    tables: StagingTables
    winners: Sequence[int]
    staged: int
    rejected: int
    load_mode: str
    upsert_key: Sequence[str] = ()
    order_by: str | None = None
    keeps_order: bool = True
    is_exploded: bool = False
    files: Sequence[LoadFile] = ()
    quarantine: Mapping[str, str] = field(default_factory=dict)
    input: InputCounts = field(default_factory=InputCounts)
    findings: LoadFindings = field(default_factory=LoadFindings)
    settings: Mapping[str, str] = field(default_factory=dict)
    hooks_ran: Callable[[], Sequence[HookReport]] = tuple
    before_swap: Callable[[], None] = lambda: None
    before_change: BeforeChange = lambda plan: None
    backs_up: bool = False
    rows_range: IncrementalRange | None = None
    skipped: SkippedRows = NONE_SKIPPED
    after_load: AfterLoad | None = None
    may_replace: Collection[RowPosition] | None = None
    row_form: str = INPUT
    united: Sequence[str] = ()
    changes: Sequence[SchemaChange] = ()
    followed: ChangesRead | None = None
    replaced: ReplacedRange | None = None
    is_part: bool = False
    cursor_sum: str = ""

    @property
    def target(self) -> TableName:
        return TableName(self.dest.schema, self.dest.table)

    @property
    def filled(self) -> Mapping[str, sql.Composable]:
        """The target columns that the load fills itself, with their values over staged rows as `s` and files as `f`. A
        column of another type than Flow creates is not filled."""
        values: dict[str, sql.Composable] = {FLOW_RUN: sql.SQL("{}::uuid").format(sql.Literal(self.run.run_id))}
        if self.files:
            values |= {SOURCE_FILE_HASH: sql.Identifier("f", "sha256"), SOURCE_RECORD: sql.Identifier("s", RECORD)}
        columns = ((name, self.dest.column(name)) for name in FILLED if name in values)
        return {name: values[name] for name, column in columns if column and _is_made_for(name, column)}

    def stage_column(self, name: str) -> StageColumn:
        return next(c for c in self.columns if c.name == name)

    def destination_column(self, name: str) -> DestinationColumn:
        column = self.dest.column(name)
        if column is None:
            raise LookupError(f"{self.target} has no column {name!r}")
        return column


def _is_made_for(name: str, column: DestinationColumn) -> bool:
    """Return whether Flow can fill a column. Any text type can store a hash; a number or a UUID needs the type that
    Flow creates."""
    return column.type.kind == "string" or column.declared == FILLED[name]


@dataclass(frozen=True, slots=True)
class ModeCounts:
    """The results of a load mode, as counted by the database, and the watermark of an incremental load. `older` rows
    were not loaded because the table has newer ones; `ahead` rows were loaded, but the watermark does not follow
    them. `deleted` rows of the table were deleted; `absent` deletions found no row. `removed` rows were not among all
    rows of the source."""

    inserted: int = 0
    updated: int = 0
    unchanged: int = 0
    replaced: int = 0
    older: int = 0
    watermark: WatermarkValue | None = None
    ahead: int = 0
    deleted: int = 0
    absent: int = 0
    removed: int = 0


@dataclass(frozen=True, slots=True)
class RejectCounts:
    """Rejected rows and entries that a load has stored. `row_results` counts the rows of a replay by result; it is None
    for other loads."""

    rows: int
    entries: int
    row_results: Mapping[str, int] | None = None


BeforeChange = Callable[["LoadPlan"], None]
"""Raises in the load's transaction to prevent changes of the table."""

AfterLoad = Callable[[Conn, "LoadPlan", LoadCounts], RejectCounts]
"""Writes the results of rejected rows in the load's transaction, after the rows are loaded."""


def insert_columns(plan: LoadPlan) -> list[str]:
    """Return the target columns that a load writes, in the order of `staged_values`."""
    return [*(c.name for c in plan.columns), *plan.filled]


def column_list(names: Sequence[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, names))


def staged_values(plan: LoadPlan) -> sql.Composed:
    """Return the values of `insert_columns` over staged rows as `s` and their files as `f`."""
    return sql.SQL(", ").join([*(staged_value(plan, c) for c in plan.columns), *plan.filled.values()])


def staged_value(plan: LoadPlan, column: StageColumn, row: str = "s") -> sql.Composed:
    """Return a staged value in the target's type, without length or precision: the INSERT applies these and refuses
    values that an explicit cast would truncate."""
    value, base = sql.Identifier(row, column.name), plan.destination_column(column.name).base
    # `bpchar` ignores trailing blanks in comparisons, so values are cast before they are compared.
    if wire_type(column.type).as_text or base == "bpchar":
        return sql.SQL("{}::{}").format(value, sql.SQL(base))
    return sql.SQL("{}").format(value)


def winning_rows(plan: LoadPlan) -> sql.Composed:
    """A sub-select of the winning tasks' staged rows.

    Values are literals, because with parameters psycopg would interpret a `%` in a column name.
    """
    return sql.SQL("(SELECT w.* FROM {} AS w WHERE {})").format(
        plan.tables.good_identifier, is_winner(plan.winners, "w")
    )


def winning_rows_in_order(conn: Conn, plan: LoadPlan) -> sql.Composed:
    """Return the same rows task by task, in the order of the source. This order often follows a key, so indexes are
    updated fastest. By default the server reads the task tables in the order of their creation."""
    there = list_task_tables(conn, plan.tables)
    ordered = [table for task in dict.fromkeys(plan.winners) if (table := task_table(plan.tables, task)) in there]
    columns = column_list([*(c.name for c in plan.columns), FILE, RECORD])
    parts = [sql.SQL("SELECT {} FROM ONLY {}").format(columns, table) for table in ordered]
    parts.append(
        sql.SQL("SELECT {} FROM ONLY {} AS w WHERE {}").format(
            columns, plan.tables.good_identifier, is_winner(plan.winners, "w")
        )
    )
    return sql.SQL("({})").format(sql.SQL(" UNION ALL ").join(parts))


def file_join(plan: LoadPlan) -> sql.Composed:
    """Return the join of files, as `f`, to staged rows, as `s`, if the load fills the file's hash; else nothing."""
    if SOURCE_FILE_HASH not in plan.filled:
        return sql.Composed([])
    return sql.SQL(
        " LEFT JOIN ROWS FROM (unnest({}::int[]), unnest({}::text[])) AS f(seq, sha256) ON f.seq = s.{}"
    ).format(
        sql.Literal([f.seq for f in plan.files]),
        sql.Literal([f.sha256 or None for f in plan.files]),
        sql.Identifier(FILE),
    )
