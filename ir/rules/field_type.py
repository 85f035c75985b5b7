"""`fieldType`."""

from __future__ import annotations

from typing import Literal

from ir.rules.base import FieldRule


class FieldType(FieldRule):
    """The text must read as this type."""

    type: Literal["fieldType"]
    expected: Literal["string", "integer", "float", "boolean", "date", "timestamp", "json", "uuid"]
