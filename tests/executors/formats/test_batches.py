"""Small batches, such as those of small files, are joined."""

from __future__ import annotations

import pyarrow as pa

from executors.formats.batches import GATHERED_BYTES, GATHERED_ROWS, gathered


def batch(rows: int, text: str = "x") -> pa.RecordBatch:
    schema = pa.schema([("n", pa.int64()), ("text", pa.string())])
    return pa.RecordBatch.from_pydict({"n": list(range(rows)), "text": [text] * rows}, schema=schema)


def test_small_batches_are_joined_and_no_row_is_lost() -> None:
    small = [batch(rows) for rows in (3, 0, 1, 5)]
    (found,) = gathered(iter(small))
    assert found.to_pylist() == [row for one in small for row in one.to_pylist()]


def test_joined_batches_have_a_bounded_size() -> None:
    found = list(gathered(batch(100) for _ in range(1000)))
    assert sum(one.num_rows for one in found) == 100_000
    assert max(one.num_rows for one in found) < GATHERED_ROWS + 100


def test_a_large_batch_is_passed_on_before_another_one_is_read() -> None:
    def batches() -> object:
        yield batch(2, "x" * GATHERED_BYTES)
        raise AssertionError("it was read")

    assert next(gathered(batches())).num_rows == 2  # type: ignore[arg-type]


def test_nothing_stays_nothing() -> None:
    assert list(gathered(iter(()))) == []
