"""What a load transaction is told and what it answers, and the SQL parts that the load modes share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from psycopg import sql

from executors.load_record import (
    NONE_SKIPPED,
    InputCounts,
    LoadCounts,
    LoadFindings,
    RunRef,
    SkippedRows,
    WatermarkValue,
)
from executors.model import Destination, DestinationColumn, HookReport, StageColumn
from executors.postgres.ddl import Conn
from executors.postgres.incremental_range import IncrementalRange
from executors.postgres.plan import FILLED, FLOW_RUN, SOURCE_FILE_HASH, SOURCE_RECORD
from executors.postgres.staging import FILE, RECORD, StagingTables, is_winner, list_task_tables, task_table
from executors.rejected_rows import RowPosition
from executors.table_name import TableName
from executors.types import wire_type


@dataclass(frozen=True, slots=True)
class LoadFile:
    """A file of this load: its place in the source's order, its name as shown, its SHA-256. A snapshot of a database
    stands here like a file, but is no unit that could be loaded already."""

    seq: int
    name: str
    sha256: str
    is_unit: bool = True


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """One load of one target.

    `staged` and `rejected` are the rows that the winning tasks reported, less what was refused since. Of rows with one
    `upsert_key` the last by `order_by` stays, else the last in source order, where the source `keeps_order`; one
    that is older by `order_by` than the row of the table stays out.
    `quarantine` maps nodes to the table (`schema.name`) that keeps their rejected rows. `before_swap` is called when
    the rows stand ready and nothing of the table is locked yet, by modes that say so. `input` and
    `findings` go into the marker as they are, and so does what `hooks_ran` answers at its end. `settings` are
    those of its transaction. `rows_range` says where an incremental load begins; the `skipped` rows before it are
    neither in staging nor in `staged` any more. `before_change` is called before the first statement that changes the
    table; `backs_up` says that the table is kept as it is before the load.
    `after_load` takes the place of keeping rejects where the rows are rejected ones themselves. `may_replace` are the
    staged rows that alone may update a row of the table; None: all may.
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

    @property
    def target(self) -> TableName:
        return TableName(self.dest.schema, self.dest.table)

    @property
    def filled(self) -> Mapping[str, sql.Composable]:
        """The target columns that the load fills itself, with their values over staged rows as `s` and files as `f`.
        One that a table has in a type of its own is somebody else's."""
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
    """Texts take a hash in any of their types; a number or a UUID must be what new tables get."""
    return column.type.kind == "string" or column.declared == FILLED[name]


@dataclass(frozen=True, slots=True)
class ModeCounts:
    """What one load mode did with the staged rows, as the database counted, and where an incremental load ended.
    `older` rows stayed out, for the table holds newer ones; `ahead` rows were loaded and cannot be a watermark."""

    inserted: int = 0
    updated: int = 0
    unchanged: int = 0
    replaced: int = 0
    older: int = 0
    watermark: WatermarkValue | None = None
    ahead: int = 0


@dataclass(frozen=True, slots=True)
class RejectCounts:
    """Rejected rows and entries that a load has kept. `row_results` says how many rows of a replay had which result;
    it is None for other loads."""

    rows: int
    entries: int
    row_results: Mapping[str, int] | None = None


BeforeChange = Callable[["LoadPlan"], None]
"""Raises in the load's transaction to keep the table as it is."""

AfterLoad = Callable[[Conn, "LoadPlan", LoadCounts], RejectCounts]
"""Says in the load's transaction what became of rejected rows, given what was loaded."""


def insert_columns(plan: LoadPlan) -> list[str]:
    """The target columns that a load writes, in the order of `staged_values`."""
    return [*(c.name for c in plan.columns), *plan.filled]


def column_list(names: Sequence[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, names))


def staged_values(plan: LoadPlan) -> sql.Composed:
    """The values of `insert_columns` over staged rows as `s` and their files as `f`."""
    return sql.SQL(", ").join([*(staged_value(plan, c) for c in plan.columns), *plan.filled.values()])


def staged_value(plan: LoadPlan, column: StageColumn, row: str = "s") -> sql.Composed:
    """A staged value in the target's type, without its length or precision: those the INSERT itself applies, which
    refuses what an explicit cast would cut."""
    value, base = sql.Identifier(row, column.name), plan.destination_column(column.name).base
    # `bpchar` compares without trailing blanks, so it must be one before it is compared.
    if wire_type(column.type).as_text or base == "bpchar":
        return sql.SQL("{}::{}").format(value, sql.SQL(base))
    return sql.SQL("{}").format(value)


def winning_rows(plan: LoadPlan) -> sql.Composed:
    """A sub-select of the winning tasks' staged rows.

    Values stand in our statements as literals: with parameters psycopg would read a `%` in a column's name.
    """
    return sql.SQL("(SELECT w.* FROM {} AS w WHERE {})").format(
        plan.tables.good_identifier, is_winner(plan.winners, "w")
    )


def winning_rows_in_order(conn: Conn, plan: LoadPlan) -> sql.Composed:
    """The same rows task by task, which is the order of the source: mostly that of a key, in which an index takes them
    fastest. The server by itself reads the tables in the order in which tasks came to make them."""
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
    """The join of the files, as `f`, to staged rows, as `s`, where the load fills the file's hash; else nothing."""
    if SOURCE_FILE_HASH not in plan.filled:
        return sql.Composed([])
    return sql.SQL(
        " LEFT JOIN ROWS FROM (unnest({}::int[]), unnest({}::text[])) AS f(seq, sha256) ON f.seq = s.{}"
    ).format(
        sql.Literal([f.seq for f in plan.files]),
        sql.Literal([f.sha256 or None for f in plan.files]),
        sql.Identifier(FILE),
    )
