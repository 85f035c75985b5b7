"""`sum`."""

from __future__ import annotations

from ir.checks.base import Amount


class Sum(Amount):
    """The sum of a column lies between two bounds. NULL adds nothing. Without rows the sum is 0."""

    kind = "sum"
    describes_all = True
    sketch = "SELECT sum({column}) FROM input"
