"""`unique`."""

from __future__ import annotations

from ir.checks.base import REPEATED, OneColumn


class Unique(OneColumn):
    """No value of the column stands twice; where rows are added, none stands in the table already. NULL may repeat."""

    kind = "unique"
    judges_rows = True
    sketch = REPEATED
