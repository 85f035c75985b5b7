"""Limits the work of sqlglot's parsers."""

from __future__ import annotations

from typing import Any

from sqlglot.errors import ParseError

from ir.budget import spend

MAX_TRIES = 100
"""The number of times that a parser may pass each token of a text. Ordinary texts need about 5."""


class Counting:
    """A base of parsers that counts every token that they pass. They backtrack, and for some texts each level of
    nesting doubles the number of attempts."""

    _tokens: list[Any]

    def reset(self) -> None:
        super().reset()  # type: ignore[misc]
        self._steps = 0

    def _advance(self, times: int = 1) -> None:
        self._steps += 1
        if self._steps > MAX_TRIES * len(self._tokens) + MAX_TRIES:
            raise ParseError.new("it can be read in too many ways")
        spend(5)
        super()._advance(times)  # type: ignore[misc]
