"""A path, compiled: what the reader computes, what Spark evaluates, what is left to the sink."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from executors.model import SourceField, join_key
from executors.reading import Reading
from executors.spark.steps import Program, Step, flags_of, outputs_of
from executors.validation import NoBranchFlag, OpFlag, TieFlag
from ir.pipeline import Path
from ir.types import ColumnType

MOST_BROADCAST = 16 << 20
"""Bytes of a reference, as its source keeps it, that is sent whole to every task."""


@dataclass(frozen=True, slots=True)
class Working:
    """A column as ops name it: a frame column and the steps that are still to be taken from there.

    `type` is what it is after the steps; `flags` are the cast flags, already in the frame, that its value hangs on.
    """

    base: str
    type: ColumnType
    steps: tuple[Step, ...] = ()
    flags: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression of the document: `text` as its author wrote it, `sql` as checked and bound to frame columns; a
    `column`, if it makes one."""

    node: str
    location: str
    text: str
    sql: str
    column: str = ""


@dataclass(frozen=True, slots=True)
class RuleColumns:
    """What Spark computes for a row rule: whether its `when` holds, and the condition of an `expression`. Rows that
    neither is to be asked of have NULL."""

    applies: str | None = None
    value: str | None = None


@dataclass(frozen=True, slots=True)
class Derive:
    """Adds frame columns; all of them see the frame as it was before."""

    columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Routes:
    """A branch node on a path: `column` holds the number of the branch that each row goes to, one more than the last
    for rows that no branch takes. It is NULL for rows that are filtered before, or rejected whatever they hold.
    `filters` says that the node filters the rows that no branch takes."""

    node: str
    column: str
    readers: tuple[str, ...]
    filters: bool


@dataclass(frozen=True, slots=True)
class RunPrograms:
    """Runs programs on computed columns, between two stages of expressions."""

    programs: tuple[Program, ...]


@dataclass(frozen=True, slots=True)
class Tie:
    """Where the place of a row tells nothing of its age, rows of a key that are equally last by `order_by` but differ
    in `told_by` are all kept, and `column` is true for them."""

    column: str
    order_by: str
    compared: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Deduplicate:
    """Adds `keep`: true for the last row of each key among those that are `eligible`, and for those that are `masked`.

    All are SQL over frame columns. The rows change places, so no batch stays what it was.
    """

    keep: str
    keys: tuple[str, ...]
    order_by: str | None
    eligible: str
    masked: str
    tie: Tie | None = None


@dataclass(frozen=True, slots=True)
class WindowColumn:
    """A frame column that a window adds, by the name of its function in documents."""

    out: str
    function: str
    argument: str | None
    offset: int


@dataclass(frozen=True, slots=True)
class Window:
    """Adds `columns` for the rows that are `eligible`, NULL for others. `order` are frame columns, each with whether
    the highest value comes first. A tie is as in a Deduplicate. The rows change places."""

    keys: tuple[str, ...]
    order: tuple[tuple[str, bool], ...]
    columns: tuple[WindowColumn, ...]
    eligible: str
    tie: Tie | None = None


@dataclass(frozen=True, slots=True)
class ExcludeRejected:
    """Adds `out`: true for the rows that no node has rejected so far, validated as the sink will validate them.
    `so_far` is the path up to here."""

    out: str
    so_far: Compiled


@dataclass(frozen=True, slots=True)
class Reference:
    """What a join looks rows up in: the path of the node `id`, compiled over the fields of its reading. Only the
    columns that the join uses are worked out."""

    id: str
    path: Path
    reading: Reading
    compiled: Compiled


@dataclass(frozen=True, slots=True)
class Join:
    """Adds `columns` of the reference to each row, as (new frame column, column of the reference), and `match`: whether
    the row has one, NULL for rows that are not to be looked up.

    `keys` are (SQL, column of the reference, type in which they are compared); the SQL gives NULL for rows that are not
    `asked`. `repeated` holds text for rows that match several rows of the reference, NULL for all others; None if that
    does not matter. Rows stay one to one. A large reference makes them change places.
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
        """Its name in counts."""
        return join_key(self.node, self.reference.id)


Stage = Derive | RunPrograms | Deduplicate | Window | ExcludeRejected | Join


@dataclass(frozen=True, slots=True)
class Observed:
    """The working columns before and after the ops of a node, for who looks at its rows."""

    node: str
    before: dict[str, Working]
    after: dict[str, Working]


@dataclass(frozen=True, slots=True)
class Compiled:
    """`frame` gives the type of every frame column beside the hidden ones.

    `source` are those that the file gives, `read` makes more of them in the reader, `needed` are the ones among both
    that expressions look at. `keeps` names, for each node that filters, the boolean column that tells which rows have
    come through it and all filters before. `rules` stand in the order of the path's row rules. `observed` is the node
    that a preview shows.
    """

    source: tuple[tuple[str, SourceField], ...]
    read: tuple[Program, ...]
    stages: tuple[Stage, ...]
    working: dict[str, Working]
    flags: tuple[OpFlag, ...]
    frame: dict[str, ColumnType]
    expressions: tuple[Expression, ...]
    needed: tuple[str, ...] = ()
    keeps: tuple[tuple[str, str], ...] = ()
    rules: tuple[RuleColumns, ...] = ()
    routes: tuple[Routes, ...] = ()
    observed: Observed | None = None

    @property
    def fields(self) -> tuple[SourceField, ...]:
        """The working columns that reach the target."""
        return tuple(SourceField(name, column.type) for name, column in self.working.items())

    @property
    def joins(self) -> tuple[Join, ...]:
        return tuple(stage for stage in self.stages if isinstance(stage, Join))

    @property
    def moves_rows(self) -> bool:
        return moves_rows(self.stages)

    def read_columns(self) -> tuple[str, ...]:
        """The frame columns that the reader makes."""
        return (*(name for name, _ in self.source), *outputs_of(self.read))

    def sink_programs(self) -> tuple[Program, ...]:
        """What the sink has to finish."""
        return tuple(
            Program(column.base, column.steps, f"w{index}")
            for index, column in enumerate(self.working.values())
            if column.steps
        )

    def sink_columns(self) -> dict[str, str]:
        """Where the sink finds each working column, once its programs have run."""
        return {
            name: f"w{index}" if column.steps else column.base
            for index, (name, column) in enumerate(self.working.items())
        }

    def sink_flags(self) -> tuple[OpFlag, ...]:
        """What ops find out. A cast whose result nothing uses is not tried."""
        tried = {
            flag
            for program in (*self.read, *self._between(), *self.sink_programs())
            for flag in flags_of(program.steps)
        }
        return tuple(flag for flag in self.flags if flag.column in tried or isinstance(flag, TieFlag | NoBranchFlag))

    def computed(self) -> list[str]:
        """The frame columns that the stages make and the sink looks at."""
        read = set(self.read_columns())
        wanted = [column.base for column in self.working.values()] + [flag.column for flag in self.sink_flags()]
        if self.observed:
            wanted += [c.base for c in (*self.observed.before.values(), *self.observed.after.values())]
        made = [column for _, column in self.keeps]
        made += [column for join in self.joins for column in (join.match, join.repeated) if column is not None]
        made += [route.column for route in self.routes]
        made += [column for rule in self.rules for column in (rule.applies, rule.value) if column is not None]
        pending = set(outputs_of(self.sink_programs()))
        return [*made, *dict.fromkeys(name for name in wanted if name not in read and name not in pending)]

    def _between(self) -> list[Program]:
        return [program for stage in self.stages if isinstance(stage, RunPrograms) for program in stage.programs]


def moves_rows(stages: Iterable[Stage]) -> bool:
    """Whether rows change places, so that those of a failed try cannot be told one by one."""
    return any(
        isinstance(stage, Deduplicate | Window) or (isinstance(stage, Join) and stage.moves_rows) for stage in stages
    )
