"""`regex`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from ir.base import Text
from ir.diagnostics import Diagnostic
from ir.pointers import Pointer
from ir.regexes import check_regex
from ir.rules.base import FieldRule


class Regex(FieldRule):
    """The text must match a pattern."""

    type: Literal["regex"]
    pattern: Text = Field(
        description="RE2 syntax. The pattern may match anywhere in the text; ^ and $ anchor it.",
        examples=["^[A-Z]{2}$"],
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from super().check(at)
        yield from check_regex(self.pattern, at / "pattern")
