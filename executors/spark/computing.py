"""Stages of a path that the reading task computes itself, if it supports all their expressions.

Then no row enters the JVM. If Spark must compute one stage, it computes all stages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from executors.formats.closing import closed_after
from executors.spark.batch_passthrough import UNREADABLE
from executors.spark.compiled import (
    Aggregate,
    Compiled,
    Deduplicate,
    Derive,
    ExcludeRejected,
    Join,
    RunPrograms,
    Stage,
    Window,
)
from executors.spark.steps import run_programs
from executors.types import wire_type
from executors.validation import BAD
from executors.vectors import Vector, compute, vector_of
from ir.types import ColumnType

if TYPE_CHECKING:
    from executors.spark.jobs import Task


@dataclass(frozen=True, slots=True)
class Vectors:
    """Adds columns. Every expression reads the batch before this stage."""

    columns: tuple[tuple[str, Vector], ...]


@dataclass(frozen=True, slots=True)
class ComputeTask:
    """Reads batches and computes the stages of each."""

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
    """Return the stages of a path if none of them needs Spark, else None."""
    types = _types(compiled.frame)
    stages = []
    for stage in compiled.stages:
        found = _computable(stage, types)
        if found is None:
            return None
        stages.append(found)
    return tuple(stages)


def cannot_fail(sql: str, frame: Mapping[str, ColumnType]) -> bool:
    """Return whether an expression over these columns returns a value for all their values."""
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
        case ExcludeRejected() | Deduplicate() | Window() | Aggregate() | Join():
            return None


def _vectors(columns: tuple[tuple[str, str], ...], types: Mapping[str, pa.DataType]) -> Vectors | None:
    """Return None also if the type differs from the type that Spark gave the column, because the values could
    differ."""
    found = []
    for name, sql in columns:
        vector = vector_of(sql, types)
        if vector is None or vector.type != types.get(name, pa.bool_()):
            return None
        found.append((name, vector))
    return Vectors(tuple(found))
