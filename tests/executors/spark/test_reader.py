"""The distribution of splits to tasks."""

from __future__ import annotations

import pytest

from executors.model import SourceFile, Split
from executors.spark.reader import group_parts


def split(number: int, size: int) -> Split:
    return Split(SourceFile(number, f"/f{number}", f"f{number}", size, 0), "", 0, size, 1, 1)


@pytest.mark.parametrize("most", [1, 2, 3, 16])
@pytest.mark.parametrize("sizes", [[5], [0, 0], [1, 1, 1], [100, 1, 1, 1], [1, 1, 1, 100], [8, 8, 8, 8, 8, 2]])
def test_every_split_is_read_once_in_source_order(sizes: list[int], most: int) -> None:
    splits = [split(number, size) for number, size in enumerate(sizes)]
    groups = group_parts(splits, most)
    assert [s for group in groups for s in group.items()] == splits
    assert 1 <= len(groups) <= most
    assert all(group.items() for group in groups)


def test_tasks_get_about_equal_shares() -> None:
    groups = group_parts([split(number, 8) for number in range(10)], 2)
    assert [len(group.items()) for group in groups] == [5, 5]


def test_a_big_split_is_a_task_of_its_own() -> None:
    groups = group_parts([split(0, 1), split(1, 100), split(2, 1)], 3)
    assert max(len(group.items()) for group in groups) < 3
