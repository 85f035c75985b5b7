"""Writers that wait, so that no more rows than allowed are written in a time."""

from __future__ import annotations

import pickle
import time
from typing import Any

import pyarrow as pa

from executors.backfill.pacing import PacedStagingArea


class Area:
    """A staging area that counts the rows it gets."""

    def __init__(self) -> None:
        self.rows: list[int] = []

    def open(self, schema: pa.Schema, task: int) -> Any:
        return self

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: Any) -> None:
        self.rows.append(-1)

    def write_good(self, batch: pa.RecordBatch) -> None:
        self.rows.append(batch.num_rows)

    write_rejects = write_good

    def commit(self) -> None:
        self.rows.append(0)


def test_rows_of_both_kinds_are_written_at_a_pace() -> None:
    area, batch = Area(), pa.record_batch({"n": [1, 2, 3, 4, 5]})
    began = time.monotonic()

    with PacedStagingArea(area, 50.0).open(batch.schema, 1) as writer:
        writer.write_good(batch)
        writer.write_rejects(batch)
        writer.commit()

    assert time.monotonic() - began >= 0.2
    assert area.rows == [5, 5, 0, -1]


def test_a_paced_area_can_be_sent_to_tasks() -> None:
    paced = PacedStagingArea(Area(), 10.0)

    assert pickle.loads(pickle.dumps(paced)).rows_per_second == 10.0
