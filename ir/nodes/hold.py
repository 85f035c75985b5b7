"""Limits on what one load may change before a person has looked at it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from ir.annotations import JsonScalar
from ir.base import Spec
from ir.diagnostics import Diagnostic, diagnose
from ir.pointers import Pointer

Percent = Annotated[int | float, JsonScalar(("number",), ge=0, le=100)]


class Hold(Spec):
    """A load that goes beyond one of these limits waits, staged, until a person approves or discards it.

    `maxDecreasePct` and `maxKeyLossPct` are shares of the rows in the table; `maxNullRateIncreasePct` is by how many
    percentage points more values of a column may be NULL in the rows that come than in the table.
    """

    max_decrease_pct: Percent | None = None
    max_key_loss_pct: Percent | None = None
    max_null_rate_increase_pct: Percent | None = None

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        if not self.model_fields_set:
            yield diagnose("hold.limit_required", at, "The hold names no limit, so nothing would ever be held.")
