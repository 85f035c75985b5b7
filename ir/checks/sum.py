"""`sum`."""

from __future__ import annotations

from ir.checks.base import Amount


class Sum(Amount):
    """The sum of a column of numbers lies within the bounds. NULL adds nothing; no rows add up to 0."""

    kind = "sum"
    sketch = "SELECT sum({column}) FROM input"
