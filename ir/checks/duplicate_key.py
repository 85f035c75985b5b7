"""`duplicateKey`."""

from __future__ import annotations

from ir.checks.base import REPEATED, SomeColumns


class DuplicateKey(SomeColumns):
    """No two rows share these columns; where rows are added, none shares them with a row of the table either.

    A row with NULL in one of them has no key.
    """

    kind = "duplicateKey"
    judges_rows = True
    sketch = REPEATED
