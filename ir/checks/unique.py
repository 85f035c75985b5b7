"""`unique`."""

from __future__ import annotations

from ir.checks.base import REPEATED, OneColumn


class Unique(OneColumn):
    """No value of the column repeats. If the load adds rows, the table's values count too. NULL may repeat."""

    kind = "unique"
    validates_rows = True
    sketch = REPEATED
