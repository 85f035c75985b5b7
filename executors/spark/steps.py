"""Column work that needs no expression: done in Python, by the reader or the sink, whoever needs the result first.

One grammar serves both, so a value never means one thing in a filter and another in the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from executors.grammar import PLAIN, Written, convert_column
from executors.validation.target import without_empty
from ir.types import ColumnType


@dataclass(frozen=True, slots=True)
class Trim:
    """Cut ASCII white space off both ends of text, as the grammar does."""


@dataclass(frozen=True, slots=True)
class Fill:
    """Put a value in place of NULL. `value` is what pyarrow takes for the column's Arrow type."""

    value: Any


@dataclass(frozen=True, slots=True)
class Convert:
    """Try to turn a column into a type; `flag` names the boolean column that tells where it failed, if any shall."""

    to: ColumnType
    flag: str | None
    written: Written = PLAIN
    empty_as_null: bool = True


Step = Trim | Fill | Convert


@dataclass(frozen=True, slots=True)
class Program:
    """Steps from one frame column to a new one, `out`."""

    base: str
    steps: tuple[Step, ...]
    out: str


def flags_of(steps: Sequence[Step]) -> list[str]:
    return [step.flag for step in steps if isinstance(step, Convert) and step.flag]


def outputs_of(programs: Sequence[Program]) -> list[str]:
    """The frame columns that programs add: each result, then its flags."""
    return [name for program in programs for name in (program.out, *flags_of(program.steps))]


@dataclass(frozen=True, slots=True)
class ProgramsTask:
    """Runs programs on the batches of a task."""

    programs: tuple[Program, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return (run_programs(batch, self.programs) for batch in batches)


def run_programs(batch: pa.RecordBatch, programs: Sequence[Program]) -> pa.RecordBatch:
    """The batch with each program's result and flags appended. Never raises for data."""
    names, arrays = list(batch.schema.names), list(batch.columns)
    for program in programs:
        for name, array in _run(program, batch.column(program.base)):
            names.append(name)
            arrays.append(array)
    return pa.RecordBatch.from_arrays(arrays, names)


def _run(program: Program, values: pa.Array) -> list[tuple[str, pa.Array]]:
    flags: list[tuple[str, pa.Array]] = []
    for step in program.steps:
        match step:
            case Trim():
                values = pc.ascii_trim_whitespace(values)
            case Fill():
                values = pc.fill_null(values, pa.scalar(step.value, values.type))
            case Convert():
                values, bad = _convert(values, step)
                flags += [(step.flag, bad)] if step.flag else []
    return [(program.out, values), *flags]


def _convert(values: pa.Array, step: Convert) -> tuple[pa.Array, pa.Array]:
    if step.empty_as_null and step.to.kind != "string":
        values = without_empty(values)
    return convert_column(values, step.to, step.written)
