"""`distinctRatio`."""

from __future__ import annotations

from ir.checks.base import Ratio


class DistinctRatio(Ratio):
    """The number of distinct values divided by the number of values lies between two bounds.

    1 means that no value repeats. NULL does not count. Without any value the check fails.
    """

    kind = "distinctRatio"
    sketch = "SELECT count(DISTINCT {column})::numeric / count({column}) FROM input"
