"""`url`."""

from __future__ import annotations

from typing import Literal

from ir.rules.base import FieldRule


class Url(FieldRule):
    """The text must look like a complete http or https address without user information. '' fails."""

    type: Literal["url"]
