"""Finds the rows that pass the rules so far, by the validation of the sink, between two stages of expressions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from executors.spark.batch_passthrough import look_into
from executors.spark.steps import Program, run_programs
from executors.validation import ValidationPlan, passes_rules


@dataclass(frozen=True, slots=True)
class ExcludeRejectedTask:
    """Adds a boolean column that is true for the rows that pass the rules of `plan`. The rows come in packed batches
    with the `computed` columns next to them; `programs` compute the columns that the rules read."""

    plan: ValidationPlan
    programs: tuple[Program, ...]
    computed: tuple[str, ...]
    out: str

    def __call__(self, frames: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        looked = look_into(frames, self.computed, self._look)
        return (_with(frame, self.out, passes) for frame, passes in looked)

    def _look(self, batch: pa.RecordBatch) -> pa.BooleanArray:
        # The reader may have set the same flags already, for a later expression.
        made = {name for program in self.programs for name in program.outputs}
        own = batch.select([name for name in batch.schema.names if name not in made])
        return passes_rules(run_programs(own, self.programs), self.plan)


def _with(batch: pa.RecordBatch, name: str, values: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([*batch.columns, values], [*batch.schema.names, name])
