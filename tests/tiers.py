"""Which cases of a matrix `make test` runs; the others are of the slow tier."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest


def pair(rows: Sequence[str], columns: Iterable[str]) -> list[Any]:
    """All pairs, as parameters. Those of the first row and of the first column are fast, the others are slow."""
    return [
        pytest.param(row, column, marks=[pytest.mark.slow] if i and j else [])
        for i, row in enumerate(rows)
        for j, column in enumerate(columns)
    ]
