"""`notInFuture`."""

from __future__ import annotations

from typing import Literal

from ir.rules.base import FieldRule


class NotInFuture(FieldRule):
    """The date or time must not be later than the start of the run. Other values fail.

    Times without a zone are read as UTC. A date means its midnight in UTC, so that today passes.
    """

    type: Literal["notInFuture"]
