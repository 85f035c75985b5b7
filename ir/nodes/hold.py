"""Limits on what one load may change without approval by a person."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from ir.annotations import JsonScalar
from ir.base import Spec
from ir.diagnostics import Diagnostic, diagnose
from ir.pointers import Pointer

Percent = Annotated[int | float, JsonScalar(("number",), ge=0, le=100)]


class Hold(Spec):
    """Limits on what one load may change. A load that exceeds one of them waits, staged, for approval."""

    max_decrease_pct: Percent | None = Field(
        None,
        title="Require approval if rows fall by more than",
        description="Percent of the rows that the table has before the load.",
        json_schema_extra={"unit": "%"},
    )
    max_key_loss_pct: Percent | None = Field(
        None,
        title="Require approval if keys disappear by more than",
        description="Percent of the keys in the table that the load would remove.",
        json_schema_extra={"unit": "%"},
    )
    max_null_rate_increase_pct: Percent | None = Field(
        None,
        title="Require approval if NULLs rise by more than",
        description="Percentage points by which the NULL rate of a column may rise, compared with the table.",
        json_schema_extra={"unit": "%"},
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        if not self.model_fields_set:
            yield diagnose("hold.limit_required", at, "The hold has no limit, so it never applies.")
