"""`duplicateKey`."""

from __future__ import annotations

from ir.checks.base import REPEATED, SomeColumns


class DuplicateKey(SomeColumns):
    """No two rows have the same values in these columns. If the load adds rows, the table's rows count too.

    Rows with NULL in one of the columns do not count.
    """

    kind = "duplicateKey"
    validates_rows = True
    sketch = REPEATED
