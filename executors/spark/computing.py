"""Stages of a path that the reading task computes itself, where every expression of theirs is on the short list.

Then no row need enter the JVM. It is all or nothing: a stage that only Spark can compute takes the others with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from executors.formats.closing import closed_after
from executors.spark.batch_passthrough import UNREADABLE
from executors.spark.compiled import Compiled, Deduplicate, Derive, ExcludeRejected, Join, RunPrograms, Stage, Window
from executors.spark.steps import run_programs
from executors.types import wire_type
from executors.validation import BAD
from executors.vectors import Vector, compute, vector_of
from ir.types import ColumnType

if TYPE_CHECKING:
    from executors.spark.jobs import Task


@dataclass(frozen=True, slots=True)
class Vectors:
    """Adds columns; all of them see the batch as it was before."""

    columns: tuple[tuple[str, Vector], ...]


@dataclass(frozen=True, slots=True)
class ComputeTask:
    """Reads, and computes stages on each batch."""

    reader: Task
    stages: tuple[Vectors | RunPrograms, ...]

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with closed_after(self.reader(numbers)) as batches:
            for batch in batches:
                yield self._computed(batch)

    def _computed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        batch = batch.append_column(UNREADABLE, pc.is_valid(batch.column(BAD)))
        for stage in self.stages:
            batch = _add(batch, stage)
        return batch


def _add(batch: pa.RecordBatch, stage: Vectors | RunPrograms) -> pa.RecordBatch:
    if isinstance(stage, RunPrograms):
        return run_programs(batch, stage.programs)
    added = [compute(vector, batch) for _, vector in stage.columns]
    names = [name for name, _ in stage.columns]
    return pa.RecordBatch.from_arrays([*batch.columns, *added], [*batch.schema.names, *names])


def computable(compiled: Compiled) -> tuple[Vectors | RunPrograms, ...] | None:
    """All stages of a path, if none of them needs Spark; else None."""
    types = _types(compiled.frame)
    stages = []
    for stage in compiled.stages:
        found = _computable(stage, types)
        if found is None:
            return None
        stages.append(found)
    return tuple(stages)


def cannot_fail(sql: str, frame: Mapping[str, ColumnType]) -> bool:
    """Whether an expression over such columns gives a value whatever they hold."""
    return vector_of(sql, _types(frame)) is not None


def _types(frame: Mapping[str, ColumnType]) -> dict[str, pa.DataType]:
    return {UNREADABLE: pa.bool_(), **{name: wire_type(kind).arrow for name, kind in frame.items()}}


def _computable(stage: Stage, types: dict[str, pa.DataType]) -> Vectors | RunPrograms | None:
    match stage:
        case RunPrograms():
            return stage
        case Derive(columns):
            vectors = _vectors(columns, types)
            if vectors is not None:
                types |= {name: vector.type for name, vector in vectors.columns}
            return vectors
        case ExcludeRejected() | Deduplicate() | Window() | Join():
            return None


def _vectors(columns: tuple[tuple[str, str], ...], types: Mapping[str, pa.DataType]) -> Vectors | None:
    """None too where the type is not what Spark gave the column: then they would not mean the same."""
    found = []
    for name, sql in columns:
        vector = vector_of(sql, types)
        if vector is None or vector.type != types.get(name, pa.bool_()):
            return None
        found.append((name, vector))
    return Vectors(tuple(found))
