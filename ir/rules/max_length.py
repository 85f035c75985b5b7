"""`maxLength`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ir.rules.base import FieldRule


class MaxLength(FieldRule):
    """At most this many code points."""

    type: Literal["maxLength"]
    max: Annotated[int, Field(ge=0)]
