"""The range of a rewind."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

import pytest

from executors.backfill.extents import Cursor, Extent
from executors.backfill.planning import Wanted, plan_chunks
from executors.model import ChunkRange
from executors.sources.base import SnapshotSource
from ir.backfill import Backfill, BackfillHint
from ir.types import ColumnType


class History:
    """A source whose cursor has these values at its ends."""

    def __init__(self, kind: str, lowest: str, highest: str) -> None:
        self.extent = Extent(Cursor("at", kind, ColumnType.parse(kind)), highest, lowest, has_nulls=True)

    def find_extent(self, column: str, latest: datetime) -> Extent:
        return self.extent


def ends_of(source: History, window: str | int, lower: str | None, upper: str | None, bound: str | None = None) -> Any:
    wanted = Wanted(
        Backfill(window=window),
        BackfillHint("monotonic"),
        "at",
        datetime(2030, 1, 1, tzinfo=UTC),
        takes_nulls=True,
        range=ChunkRange(lower, upper),
        bound=bound,
    )
    chunks = plan_chunks(cast(SnapshotSource, source), wanted).chunks
    return chunks[0].lower, chunks[-1].upper


@pytest.mark.parametrize(
    ("kind", "lowest", "highest", "window", "end"),
    [
        ("bigint", "1", "90", 30, "91"),
        ("bigint", "1", str(2**63 - 1), 10**16, str(2**63 - 1)),
        ("decimal(5,2)", "1.00", "90.25", 30, "91"),
        ("date", "2024-01-01", "2024-03-01", "30d", "2024-03-02"),
        ("timestamp", "2024-01-01 00:00:00", "2024-03-01 00:00:00", "30d", "2024-03-01 00:00:00.000001"),
    ],
)
def test_a_range_without_an_end_has_the_highest_value(
    kind: str, lowest: str, highest: str, window: str | int, end: str
) -> None:
    assert ends_of(History(kind, lowest, highest), window, lowest, None)[1] == end


def test_a_range_ends_where_it_says_and_never_above_the_bound_of_the_target() -> None:
    source = History("bigint", "1", "90")
    assert ends_of(source, 30, "10", "40") == ("10", "40")
    assert ends_of(source, 30, "10", None, bound="80") == ("10", "80")
    assert ends_of(source, 30, "10", "85", bound="80") == ("10", "80")
