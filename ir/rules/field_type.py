"""`fieldType`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ir.rules.base import FieldRule


class FieldType(FieldRule):
    """The text must be readable as this type."""

    type: Literal["fieldType"]
    expected: Literal["string", "integer", "float", "boolean", "date", "timestamp", "json", "uuid"] = Field(
        title="Type", description="The type that the text must be readable as."
    )
