"""`distinctRatio`."""

from __future__ import annotations

from ir.checks.base import Ratio


class DistinctRatio(Ratio):
    """Distinct values divided by values lie within the bounds: 1 says that none repeats.

    NULL does not count; without any value it fails.
    """

    kind = "distinctRatio"
    sketch = "SELECT count(DISTINCT {column})::numeric / count({column}) FROM input"
