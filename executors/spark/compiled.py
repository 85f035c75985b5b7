"""A compiled path: what the reader computes, what Spark computes, and what the sink computes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from executors.model import SourceField, join_key
from executors.reading import Reading
from executors.spark.exploding import Explode
from executors.spark.steps import Program, Step
from executors.validation import CustomFlag, NoBranchFlag, OpFlag, TieFlag
from executors.wasm import CallModule
from ir.pipeline import Path
from ir.types import ColumnType

MOST_BROADCAST = 16 << 20
"""The largest size in bytes of a reference that Spark sends completely to every task."""


@dataclass(frozen=True, slots=True)
class Working:
    """A column of the document: a frame column, and the steps that are not run yet.

    `type` is the type after the steps; `flags` are the cast flags in the frame that the value depends on.
    """

    base: str
    type: ColumnType
    steps: tuple[Step, ...] = ()
    flags: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression of the document: `text` as its author wrote it, `sql` as checked and bound to frame columns.
    `column` is the column that it computes, if any."""

    node: str
    location: str
    text: str
    sql: str
    column: str = ""


@dataclass(frozen=True, slots=True)
class RuleColumns:
    """The columns that Spark computes for a row rule: whether its `when` is true, and the condition of an `expression`.
    They are NULL for rows for which the expression is not evaluated."""

    applies: str | None = None
    value: str | None = None


@dataclass(frozen=True, slots=True)
class Derive:
    """Adds frame columns. Every expression reads the frame before this stage."""

    columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Routes:
    """A branch node on a path. `column` contains the number of the branch of each row; for rows that no branch takes,
    it is the number of branches. It is NULL for rows that an earlier node filters, and for bad rows. If `filters` is
    true, the node filters the rows that no branch takes."""

    node: str
    column: str
    readers: tuple[str, ...]
    filters: bool


@dataclass(frozen=True, slots=True)
class RunPrograms:
    """Runs programs, or calls modules, on computed columns, between two stages of expressions."""

    programs: tuple[Program | CallModule, ...]


@dataclass(frozen=True, slots=True)
class Tie:
    """The check of rows whose order is not defined, if the source has no order. If rows of a key are equally last by
    `order_by` but differ in the columns `compared`, all of them are kept, and `column` is true for them."""

    column: str
    order_by: str
    compared: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Deduplicate:
    """Adds `keep`: true for the last row of each key among the `eligible` rows, and for `masked` rows.

    All fields are SQL over frame columns. The order of the rows changes, so batches do not stay together.
    """

    keep: str
    keys: tuple[str, ...]
    order_by: str | None
    eligible: str
    masked: str
    tie: Tie | None = None


@dataclass(frozen=True, slots=True)
class WindowColumn:
    """A frame column of a window. `function` is the name of the function in documents."""

    out: str
    function: str
    argument: str | None
    offset: int


@dataclass(frozen=True, slots=True)
class Window:
    """Adds `columns` for the `eligible` rows; they are NULL for other rows. `order` are frame columns, each with true
    if the highest value comes first. `tie` is as in a Deduplicate. The order of the rows changes."""

    keys: tuple[str, ...]
    order: tuple[tuple[str, bool], ...]
    columns: tuple[WindowColumn, ...]
    eligible: str
    tie: Tie | None = None


@dataclass(frozen=True, slots=True)
class GroupColumn:
    """A frame column that an aggregate computes, by the name of its function in documents, of a type. The argument is
    SQL."""

    out: str
    function: str
    argument: str | None
    type: ColumnType


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Adds `columns`, `rows` (the number of rows of the group) and `records` (the origin of its first rows, as JSON) to
    the first row of each group of `eligible` rows; they are NULL for all other rows. `is_first` is true for the first
    row. The order of the rows changes."""

    keys: tuple[str, ...]
    columns: tuple[GroupColumn, ...]
    eligible: str
    is_first: str
    rows: str
    records: str


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups of a path. `node` is the node with the aggregate. The boolean columns `before` (None for all rows) and
    `keep` are true for the rows that reach the aggregate and for those that remain. `rows` and `records` are columns of
    `Aggregate`; `values` are the frame columns of a group's values by name."""

    node: str
    before: str | None
    keep: str
    rows: str
    records: str
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ExcludeRejected:
    """Adds `out`: true for the rows that no node has rejected so far, by the validation of the sink. `so_far` is the
    path up to this stage."""

    out: str
    so_far: Compiled


@dataclass(frozen=True, slots=True)
class Reference:
    """The reference of a join: the path of the node `id`, compiled over the fields of its reading. Only the columns
    that the join uses are computed."""

    id: str
    path: Path
    reading: Reading
    compiled: Compiled


@dataclass(frozen=True, slots=True)
class Join:
    """Adds `columns` of the reference to each row, as (new frame column, column of the reference), and `match`: whether
    the row has a match, NULL for rows that are not looked up.

    `keys` are (SQL, column of the reference, type in which they are compared); the SQL is NULL for rows for which
    `asked` is false. `repeated` contains text for rows that match several rows of the reference, and NULL for all
    others; it is None if repeated matches are allowed. The number of rows does not change. A large reference changes
    their order.
    """

    node: str
    reference: Reference
    keys: tuple[tuple[str, str, ColumnType], ...]
    columns: tuple[tuple[str, str], ...]
    asked: str
    match: str
    repeated: str | None

    @property
    def moves_rows(self) -> bool:
        size = self.reference.reading.size
        return size is None or size > MOST_BROADCAST

    @property
    def key(self) -> str:
        """Return the name of the join in counts."""
        return join_key(self.node, self.reference.id)


Stage = Derive | RunPrograms | Deduplicate | Window | Aggregate | ExcludeRejected | Join


@dataclass(frozen=True, slots=True)
class Observed:
    """The working columns before and after the ops of a node, for a preview of its rows."""

    node: str
    before: dict[str, Working]
    after: dict[str, Working]


@dataclass(frozen=True, slots=True)
class Compiled:
    """`frame` contains the type of every frame column, except for the hidden ones.

    `source` are the columns of the source. The reader computes more columns with the programs `read`. `needed` are
    those of both that expressions read. `keeps` contains, for each node that filters, the boolean column that is true
    for rows that passed this and all earlier filters. `rules` have the order of the row rules of the path. `observed`
    is the node that a preview shows. `united` are the columns where the rows meet those of other paths, if they do.
    """

    source: tuple[tuple[str, SourceField], ...]
    read: tuple[Program | Explode, ...]
    stages: tuple[Stage, ...]
    working: dict[str, Working]
    flags: tuple[OpFlag, ...]
    frame: dict[str, ColumnType]
    expressions: tuple[Expression, ...]
    needed: tuple[str, ...] = ()
    keeps: tuple[tuple[str, str], ...] = ()
    rules: tuple[RuleColumns, ...] = ()
    routes: tuple[Routes, ...] = ()
    groups: Groups | None = None
    observed: Observed | None = None
    united: Mapping[str, ColumnType] | None = None

    @property
    def fields(self) -> tuple[SourceField, ...]:
        """Return the working columns that reach the target."""
        return tuple(SourceField(name, column.type) for name, column in self.working.items())

    @property
    def joins(self) -> tuple[Join, ...]:
        return tuple(stage for stage in self.stages if isinstance(stage, Join))

    @property
    def moves_rows(self) -> bool:
        return moves_rows(self.stages)

    def read_columns(self) -> tuple[str, ...]:
        """Return the frame columns of the reader."""
        return (*(name for name, _ in self.source), *(name for program in self.read for name in program.outputs))

    @property
    def explode(self) -> Explode | None:
        return next((program for program in self.read if isinstance(program, Explode)), None)

    def sink_programs(self) -> tuple[Program, ...]:
        """Return the programs that the sink runs."""
        return tuple(
            Program(column.base, column.steps, f"w{index}")
            for index, column in enumerate(self.working.values())
            if column.steps
        )

    def sink_columns(self) -> dict[str, str]:
        """Return the column of the sink's batches for each working column, after the programs have run."""
        return {
            name: f"w{index}" if column.steps else column.base
            for index, (name, column) in enumerate(self.working.items())
        }

    def sink_flags(self) -> tuple[OpFlag, ...]:
        """Return the flags that are set. A cast whose result is not used does not run."""
        tried = {flag for program in (*self.read, *self._between(), *self.sink_programs()) for flag in program.flags}
        return tuple(flag for flag in self.flags if flag.column in tried or isinstance(flag, TieFlag | NoBranchFlag))

    def computed(self) -> list[str]:
        """Return the frame columns that the stages compute and the sink reads."""
        read = set(self.read_columns())
        flags = self.sink_flags()
        wanted = [column.base for column in self.working.values()] + [flag.column for flag in flags]
        wanted += [flag.messages for flag in flags if isinstance(flag, CustomFlag)]
        if self.observed:
            wanted += [c.base for c in (*self.observed.before.values(), *self.observed.after.values())]
        made = [column for _, column in self.keeps]
        made += [column for join in self.joins for column in (join.match, join.repeated) if column is not None]
        made += [route.column for route in self.routes]
        if self.groups:
            before = [self.groups.before] if self.groups.before else []
            wanted += [*before, self.groups.rows, self.groups.records, *self.groups.values.values()]
        made += [column for rule in self.rules for column in (rule.applies, rule.value) if column is not None]
        made = [name for name in made if name not in read]
        pending = {name for program in self.sink_programs() for name in program.outputs}
        return list(dict.fromkeys([*made, *(name for name in wanted if name not in read and name not in pending)]))

    def _between(self) -> list[Program | CallModule]:
        return [program for stage in self.stages if isinstance(stage, RunPrograms) for program in stage.programs]


def moves_rows(stages: Iterable[Stage]) -> bool:
    """Return whether the order of the rows changes. If so, the pass is not run again after an expression failed."""
    return any(
        isinstance(stage, Deduplicate | Window | Aggregate) or (isinstance(stage, Join) and stage.moves_rows)
        for stage in stages
    )
