"""Batches that pass through the JVM packed, tested without a JVM."""

from __future__ import annotations

import pyarrow as pa
import pytest

from executors.errors import Terminal
from executors.spark.batch_passthrough import PACKED_BATCH, ROW, UNREADABLE, look_into, pack, unpack


def batch(first: int, rows: int) -> pa.RecordBatch:
    numbers = list(range(first, first + rows))
    bad = ["ragged" if number % 5 == 0 else None for number in numbers]
    return pa.RecordBatch.from_pydict({"n": numbers, "_flow_bad": pa.array(bad, pa.string())})


def computed(frame: pa.RecordBatch) -> pa.RecordBatch:
    """Return a frame after its stages: the packed batch and a column that is computed from `n`."""
    doubled = pa.array([value * 2 for value in frame.column("n").to_pylist()])
    return pa.RecordBatch.from_arrays([frame.column(PACKED_BATCH), doubled], [PACKED_BATCH, "doubled"])


def cut(frames: list[pa.RecordBatch], rows: int) -> list[pa.RecordBatch]:
    table = pa.Table.from_batches(frames).combine_chunks()
    return table.to_batches(max_chunksize=rows)


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 7, 100])
def test_however_the_jvm_cuts_the_rows_they_come_together_again(rows: int) -> None:
    batches = [batch(0, 3), batch(3, 1), batch(4, 5)]
    frames = [computed(pack(b, ("n",))) for b in batches]
    pieces = list(unpack(iter(cut(frames, rows)), ("doubled",)))
    seen = [row for piece in pieces for row in piece.to_pylist()]
    assert [(row["n"], row["doubled"]) for row in seen] == [(n, 2 * n) for n in range(9)]


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 7, 100])
def test_a_look_into_packed_batches_gives_each_frame_back_with_a_value_for_each_row(rows: int) -> None:
    frames = cut([computed(pack(b, ("n",))) for b in (batch(0, 3), batch(3, 1), batch(4, 5))], rows)
    given = [frames[0].slice(0, 0), *frames, frames[0].slice(0, 0)]
    looked = list(look_into(iter(given), ("doubled",), lambda piece: piece.column("n")))
    assert [frame.num_rows for frame, _ in looked] == [frame.num_rows for frame in frames]
    assert [value for _, values in looked for value in values.to_pylist()] == list(range(9))
    assert [row for frame, _ in looked for row in frame.column("doubled").to_pylist()] == [2 * n for n in range(9)]


def test_a_look_into_packed_batches_misses_no_row() -> None:
    rows = computed(pack(batch(0, 3), ("n",)))
    with pytest.raises(Terminal):
        list(look_into(iter([rows.slice(0, 2)]), ("doubled",), lambda piece: piece.column("n")))


def test_a_frame_reports_which_records_could_not_be_read() -> None:
    assert pack(batch(4, 3), ()).column(UNREADABLE).to_pylist() == [False, True, False]


@pytest.mark.parametrize("part", [slice(0, 2), slice(1, 3), slice(0, 4)])
def test_a_missing_row_is_an_error_and_never_a_shift(part: slice) -> None:
    frames = [computed(pack(b, ("n",))) for b in (batch(0, 3), batch(3, 2))]
    rows = pa.Table.from_batches(frames).combine_chunks().to_batches()[0]
    with pytest.raises(Terminal) as caught:
        list(unpack(iter([rows.slice(part.start, part.stop - part.start)]), ("doubled",)))
    assert caught.value.code == "rows.lost"


def test_rows_that_are_not_in_their_order_are_an_error() -> None:
    frame = computed(pack(batch(0, 3), ("n",))).append_column(ROW, pa.array([0, 1, 2], pa.int32()))
    assert sum(piece.num_rows for piece in unpack(iter([frame]), ("doubled", ROW))) == 3
    swapped = frame.set_column(2, ROW, pa.array([0, 2, 1], pa.int32()))
    with pytest.raises(Terminal):
        list(unpack(iter([swapped]), ("doubled", ROW)))
