"""Between two stages of expressions: which rows the rules so far have left, as the sink will validate them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from executors.spark.batch_passthrough import look_into
from executors.spark.steps import Program, outputs_of, run_programs
from executors.validation import ValidationPlan, left_by_rules


@dataclass(frozen=True, slots=True)
class ExcludeRejectedTask:
    """Adds a boolean column, true for the rows that are left, to rows that are passed in packed batches with the
    `computed` columns beside them. `programs` finish the columns that the rules of `plan` look at."""

    plan: ValidationPlan
    programs: tuple[Program, ...]
    computed: tuple[str, ...]
    out: str

    def __call__(self, frames: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        looked = look_into(frames, self.computed, self._look)
        return (_with(frame, self.out, left) for frame, left in looked)

    def _look(self, batch: pa.RecordBatch) -> pa.BooleanArray:
        # What a later expression needs may have been made already, by the reader: the same flags under the same names.
        made = set(outputs_of(self.programs))
        own = batch.select([name for name in batch.schema.names if name not in made])
        return left_by_rules(run_programs(own, self.programs), self.plan)


def _with(batch: pa.RecordBatch, name: str, values: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([*batch.columns, values], [*batch.schema.names, name])
