"""Row rules: what each row must satisfy, and what happens to one that does not."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ir.base import Id, Spec, Text

RowOnFail = Literal["abort", "warn", "skip"]


class RowRule(Spec):
    """What all row rules share. `id` is filled with a hash of the content where the document gives none."""

    field: str
    on_fail: RowOnFail
    id: Id | None = None


class NotNull(RowRule):
    """NULL fails, and '' too where the target would store it as NULL."""

    type: Literal["notNull"]


class Regex(RowRule):
    """The RE2 pattern must be found somewhere in the text."""

    type: Literal["regex"]
    pattern: Text


class Range(RowRule):
    """The value must lie within the bounds, both included. NaN and what is no number fail."""

    type: Literal["range"]
    min: int | float | str | None = None
    max: int | float | str | None = None


class MaxLength(RowRule):
    """At most this many code points."""

    type: Literal["maxLength"]
    max: Annotated[int, Field(ge=0)]


class FieldType(RowRule):
    """The text must read as this type."""

    type: Literal["fieldType"]
    expected: Literal["string", "integer", "float", "boolean", "date", "timestamp", "json", "uuid"]


RULE_KINDS = (NotNull, Regex, Range, MaxLength, FieldType)
Rule = Annotated[NotNull | Regex | Range | MaxLength | FieldType, Field(discriminator="type")]
