"""`mean`."""

from __future__ import annotations

from ir.checks.base import Amount


class Mean(Amount):
    """The mean of a column of numbers lies within the bounds. NULL does not count; without any value it fails."""

    kind = "mean"
    sketch = "SELECT avg({column}) FROM input"
