"""`freshness`."""

from __future__ import annotations

from ir.base import PositiveNumber
from ir.checks.base import OneColumn


class Freshness(OneColumn):
    """The newest value that is not in the future is at most so many hours old.

    Times without a zone are UTC, a date is its midnight. Values in the future are told. Without any value it fails.
    """

    kind = "freshness"
    sketch = (
        "SELECT now() - max({column}) FILTER (WHERE {column} <= now()), count(*) FILTER (WHERE {column} > now())"
        " FROM input"
    )
    within_hours: PositiveNumber
