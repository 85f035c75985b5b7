"""Paces the rows that tasks write. Each task has an equal share of the rate and no connection to the others, so that
the rate is never exceeded; a share that is not used is lost."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from executors.destinations.base import StageWriter, StagingArea


@dataclass(frozen=True, slots=True)
class PacedStagingArea:
    """A staging area of which each task writes at most so many rows per second. It is pickled and sent to them."""

    area: StagingArea
    rows_per_second: float

    def open(self, schema: pa.Schema, task: int) -> StageWriter:
        return PacedWriter(self.area.open(schema, task), self.rows_per_second)


class PacedWriter:
    """A writer that waits before it writes."""

    def __init__(self, writer: StageWriter, rows_per_second: float) -> None:
        self._writer, self._rows_per_second = writer, rows_per_second
        self._began, self._rows = time.monotonic(), 0

    def __enter__(self) -> StageWriter:
        self._writer.__enter__()
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        self._writer.__exit__(kind, value, traceback)

    def write_good(self, batch: pa.RecordBatch) -> None:
        self._wait(batch.num_rows)
        self._writer.write_good(batch)

    def write_rejects(self, batch: pa.RecordBatch) -> None:
        self._wait(batch.num_rows)
        self._writer.write_rejects(batch)

    def commit(self) -> None:
        self._writer.commit()

    def _wait(self, rows: int) -> None:
        self._rows += rows
        time.sleep(max(self._began + self._rows / self._rows_per_second - time.monotonic(), 0))
