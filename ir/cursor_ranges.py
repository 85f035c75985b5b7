"""Divides a range of cursor values into windows, without gaps and without overlaps."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from ir.cursor_values import Axis
from ir.watermarks import Lag


@dataclass(frozen=True, slots=True)
class Window:
    """The range [`lower`, `upper`) of cursor values, as texts. Without `lower` it has no lower end."""

    lower: str | None
    upper: str


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows of the values below `cut`, from `start` on. Without a start, the first one has no lower end: values
    below `lowest`, the lowest finite value that is known, may arrive before it is read. The others begin at multiples
    of their length, or of a day."""

    axis: Axis
    size: Lag
    cut: str
    lowest: str | None = None
    start: str | None = None

    def __iter__(self) -> Iterator[Window]:
        lower = self.start
        for number in range(1, self.number):
            upper = self.axis.text(self._first + number * self._step)
            yield Window(lower, upper)
            lower = upper
        if self.number:
            yield Window(lower, self.cut)

    @property
    def number(self) -> int:
        """How many windows there are. It may be more than a list could have."""
        end = self.axis.position(self.cut)
        if self.start is not None and self.axis.position(self.start) >= end:
            return 0
        return max(math.ceil((end - self._first) / self._step), 1)

    @property
    def span(self) -> Fraction:
        """The length of the whole range, as far as values are known."""
        lowest = self._lowest
        start = lowest if self.start is None else self.axis.position(self.start)
        return max(self.axis.position(self.cut) - max(start, lowest), Fraction(0))

    @property
    def _lowest(self) -> Fraction:
        return self.axis.position(self.cut if self.lowest is None else self.lowest)

    @property
    def _step(self) -> Fraction:
        return max(self.axis.step(self.size), self.axis.least_step)

    @property
    def _first(self) -> Fraction:
        """Where the first window would begin if it had a lower end only for its length."""
        start = None if self.start is None else self.axis.position(self.start)
        if start is not None and start >= self._lowest:
            return start
        grain = min(self._step, self.axis.grain or self._step)
        return math.floor(self._lowest / grain) * grain
