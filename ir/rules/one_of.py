"""`oneOf`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ir.annotations import JsonScalar
from ir.rules.base import FieldRule

Value = Annotated[str | int | float, JsonScalar(("string", "number"))]
Values = Annotated[
    list[Value],
    Field(
        min_length=1,
        max_length=1000,
        title="Values",
        description="Texts are compared exactly, numbers by value: 1 equals 1.0. In the form, a number in quotes is a "
        "text.",
    ),
]


class OneOf(FieldRule):
    """The value must be one of these. '' is a text like any other."""

    type: Literal["oneOf"]
    values: Values
