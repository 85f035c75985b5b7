"""`oneOf`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ir.annotations import JsonScalar
from ir.rules.base import FieldRule

Value = Annotated[str | int | float, JsonScalar(("string", "number"))]
Values = Annotated[list[Value], Field(min_length=1, max_length=1000)]


class OneOf(FieldRule):
    """The value must be one of these. Texts are compared exactly, numbers by what they are worth: 1 is 1.0.

    '' is a text like any other.
    """

    type: Literal["oneOf"]
    values: Values
