"""`nullRate`."""

from __future__ import annotations

from ir.checks.base import Ratio


class NullRate(Ratio):
    """The share of rows in which the column is NULL, as it would be loaded, lies within the bounds: 0.25 is a quarter.

    Of no rows it is 0.
    """

    kind = "nullRate"
    sketch = "SELECT count(*) FILTER (WHERE {column} IS NULL)::numeric / count(*) FROM input"
