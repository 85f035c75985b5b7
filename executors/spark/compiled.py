"""A path, compiled: what the reader computes, what Spark evaluates, what is left to the sink."""

from __future__ import annotations

from dataclasses import dataclass

from executors.model import SourceField
from executors.spark.steps import Program, Step, flags_of, outputs_of
from executors.validation import CastFlag, OpFlag
from ir.types import ColumnType


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
class ExcludeRejected:
    """Adds `out`: true for the rows that no node has rejected so far, validated as the sink will validate them.
    `so_far` is the path up to here."""

    out: str
    so_far: Compiled


Stage = Derive | RunPrograms | Deduplicate | ExcludeRejected


@dataclass(frozen=True, slots=True)
class Compiled:
    """`frame` gives the type of every frame column beside the hidden ones.

    `source` are those that the file gives, `read` makes more of them in the reader, `needed` are the ones among both
    that expressions look at. `keeps` names, for each node that filters, the boolean column that tells which rows have
    come through it and all filters before. `rules` stand in the order of the path's row rules.
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

    @property
    def fields(self) -> tuple[SourceField, ...]:
        """The working columns that reach the target."""
        return tuple(SourceField(name, column.type) for name, column in self.working.items())

    @property
    def moves_rows(self) -> bool:
        return any(isinstance(stage, Deduplicate) for stage in self.stages)

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
        return tuple(flag for flag in self.flags if flag.column in tried or not isinstance(flag, CastFlag))

    def computed(self) -> list[str]:
        """The frame columns that the stages make and the sink looks at."""
        read = set(self.read_columns())
        wanted = [column.base for column in self.working.values()] + [flag.column for flag in self.sink_flags()]
        made = [column for _, column in self.keeps]
        made += [column for rule in self.rules for column in (rule.applies, rule.value) if column is not None]
        pending = set(outputs_of(self.sink_programs()))
        return [*made, *dict.fromkeys(name for name in wanted if name not in read and name not in pending)]

    def _between(self) -> list[Program]:
        return [program for stage in self.stages if isinstance(stage, RunPrograms) for program in stage.programs]
