"""`notNull`."""

from __future__ import annotations

from typing import Literal

from ir.rules.base import FieldRule


class NotNull(FieldRule):
    """NULL fails, and '' too where the target would store it as NULL."""

    type: Literal["notNull"]
