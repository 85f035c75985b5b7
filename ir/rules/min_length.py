"""`minLength`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ir.rules.base import FieldRule


class MinLength(FieldRule):
    """The text must have at least this many characters. '' has none. NULL passes."""

    type: Literal["minLength"]
    min: Annotated[int, Field(ge=1)] = Field(
        title="Minimum length", description="In Unicode code points.", json_schema_extra={"unit": "characters"}
    )
