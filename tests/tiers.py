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


def one_each(items: Iterable[pytest.Function], *params: str) -> list[pytest.Function]:
    """Return the items to leave out so that each test has one value of these parameters for all values of the others.
    Which one depends on the names of the others, so that the values take turns."""
    groups: dict[str, dict[str, list[pytest.Function]]] = defaultdict(lambda: defaultdict(list))
    for item in items:
        own = [name_of(item.callspec.params[param]) for param in params if param in item.callspec.params]
        others = "-".join(part for part in item.callspec.id.split("-") if part not in own)
        groups[f"{item.path.name} {item.originalname} {others}"]["-".join(own)].append(item)
    left_out: list[pytest.Function] = []
    for key, values in groups.items():
        chosen = sorted(values)[crc32(key.encode()) % len(values)]
        left_out += [item for value, cases in values.items() if value != chosen for item in cases]
    return left_out


def name_of(value: Any) -> str:
    return str(getattr(value, "__name__", value))
