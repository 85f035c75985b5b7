"""`notInFuture`."""

from __future__ import annotations

from typing import Literal

from ir.rules.base import FieldRule


class NotInFuture(FieldRule):
    """The date or time must not lie behind the run's clock. What is neither fails.

    Times without a zone are UTC; a date is its midnight there, so that today's passes.
    """

    type: Literal["notInFuture"]
