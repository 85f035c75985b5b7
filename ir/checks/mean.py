"""`mean`."""

from __future__ import annotations

from ir.checks.base import Amount


class Mean(Amount):
    """The mean of a column lies between two bounds. NULL does not count. Without any value the check fails."""

    kind = "mean"
    sketch = "SELECT avg({column}) FROM input"
