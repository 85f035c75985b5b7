"""The distribution of parts and files to tasks."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Group(Generic[Item]):
    """The items of one task. Each task receives those of all tasks, and makes objects of its own ones only: for many
    small files that takes as long as reading them."""

    pickled: bytes

    @classmethod
    def of(cls, items: Sequence[Item]) -> Group[Item]:
        return cls(pickle.dumps(tuple(items)))

    def items(self) -> tuple[Item, ...]:
        return tuple(pickle.loads(self.pickled))  # noqa: S301 - written by the driver


def grouped(items: Sequence[Item], most: int, size_of: Callable[[Item], int]) -> tuple[Group[Item], ...]:
    """Distribute items to at most `most` tasks, in their order, by size."""
    sizes = [max(1, size_of(item)) for item in items]
    total, before = sum(sizes), 0
    groups: list[list[Item]] = [[] for _ in range(min(most, len(items)))]
    for item, size in zip(items, sizes, strict=True):
        # The middle of an item decides, so that a large item belongs to the group that contains most of it.
        group = (before + size / 2) * len(groups) / total
        groups[min(int(group), len(groups) - 1)].append(item)
        before += size
    return tuple(Group.of(group) for group in groups if group)
