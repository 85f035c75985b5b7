"""`notNull`."""

from __future__ import annotations

from typing import Literal

from ir.rules.base import FieldRule


class NotNull(FieldRule):
    """The value must not be NULL. '' fails too if the target would store it as NULL."""

    type: Literal["notNull"]
