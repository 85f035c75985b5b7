"""`maxLength`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ir.rules.base import FieldRule


class MaxLength(FieldRule):
    """The text must have at most this many characters."""

    type: Literal["maxLength"]
    max: Annotated[int, Field(ge=0)] = Field(
        title="Maximum length", description="In Unicode code points.", json_schema_extra={"unit": "characters"}
    )
