"""Which cases of a matrix `make test` runs; the others are of the slow tier."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from zlib import crc32

import pytest


def pair(rows: Sequence[Any], columns: Iterable[Any]) -> list[Any]:
    """All pairs, as parameters. Those of the first row and of the first column are fast, the others are slow."""
    return [
        pytest.param(row, column, marks=[pytest.mark.slow] if i and j else [])
        for i, row in enumerate(rows)
        for j, column in enumerate(columns)
    ]


def mark_slow_but_one(items: Iterable[pytest.Function], group: Callable[[pytest.Function], str]) -> None:
    """Leave one fast item in each group. Which one depends on the name of the group, so that modes take turns."""
    groups: dict[str, list[pytest.Function]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("slow"):
            continue
        groups[f"{item.path.name} {group(item)}"].append(item)
    for key, cases in groups.items():
        del cases[crc32(key.encode()) % len(cases)]
        for case in cases:
            case.add_marker(pytest.mark.slow)


def one_mode_each(items: Iterable[pytest.Function], group: Callable[[pytest.Function], str]) -> list[pytest.Function]:
    """Return the items to leave out so that one load mode is left in each group. Which one depends on the name of the
    group, so that modes take turns."""
    groups: dict[str, dict[str, list[pytest.Function]]] = defaultdict(lambda: defaultdict(list))
    for item in items:
        groups[f"{item.path.name} {group(item)}"][item.callspec.params["mode"]].append(item)
    left_out: list[pytest.Function] = []
    for key, modes in groups.items():
        chosen = sorted(modes)[crc32(key.encode()) % len(modes)]
        left_out += [item for mode, cases in modes.items() if mode != chosen for item in cases]
    return left_out
