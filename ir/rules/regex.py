"""`regex`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from ir.base import Text
from ir.diagnostics import Diagnostic
from ir.pointers import Pointer
from ir.regexes import check_regex
from ir.rules.base import FieldRule


class Regex(FieldRule):
    """The RE2 pattern must be found somewhere in the text."""

    type: Literal["regex"]
    pattern: Text

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from super().check(at)
        yield from check_regex(self.pattern, at / "pattern")
