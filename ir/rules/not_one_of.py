"""`notOneOf`."""

from __future__ import annotations

from typing import Literal

from ir.rules.base import FieldRule
from ir.rules.one_of import Values


class NotOneOf(FieldRule):
    """The value must be none of these."""

    type: Literal["notOneOf"]
    values: Values
