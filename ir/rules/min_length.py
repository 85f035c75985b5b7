"""`minLength`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ir.rules.base import FieldRule


class MinLength(FieldRule):
    """At least this many code points. '' has none; NULL passes."""

    type: Literal["minLength"]
    min: Annotated[int, Field(ge=1)]
