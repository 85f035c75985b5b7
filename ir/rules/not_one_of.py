"""`notOneOf`."""

from __future__ import annotations

from typing import Literal

from ir.rules.base import FieldRule
from ir.rules.one_of import Values


class NotOneOf(FieldRule):
    """The value must be none of these; they are compared as those of `oneOf`."""

    type: Literal["notOneOf"]
    values: Values
