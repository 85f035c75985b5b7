"""Row rules: what each row must satisfy, and what happens to one that does not."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Annotated, Literal

import rfc8785
from pydantic import Field

from ir.annotations import ByTag, JsonScalar, tag_of
from ir.base import Id, Spec, Text
from ir.bounds import check_bounds
from ir.diagnostics import Diagnostic
from ir.kinds import KindTable
from ir.names import check_identifier
from ir.pointers import Pointer
from ir.regexes import check_regex

RowOnFail = Literal["abort", "warn", "skip"]
Bound = Annotated[int | float | str, JsonScalar(("number", "string"))]


class RowRule(Spec):
    """What all row rules share. Where `id` is not given, `rule_id` makes one of the content."""

    field: str
    on_fail: RowOnFail
    id: Id | None = None

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        if self.field == "":
            yield from check_identifier(self.field, at / "field", "column")


class NotNull(RowRule):
    """NULL fails, and '' too where the target would store it as NULL."""

    type: Literal["notNull"]


class Regex(RowRule):
    """The RE2 pattern must be found somewhere in the text."""

    type: Literal["regex"]
    pattern: Text

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from super().check(at)
        yield from check_regex(self.pattern, at / "pattern")


class Range(RowRule):
    """The value must lie within the bounds, both included. NaN and what is no number fail.

    Bounds in text are exact numbers, dates or timestamps.
    """

    type: Literal["range"]
    min: Bound | None = None
    max: Bound | None = None

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from super().check(at)
        yield from check_bounds(self.min, self.max, at)


class MaxLength(RowRule):
    """At most this many code points."""

    type: Literal["maxLength"]
    max: Annotated[int, Field(ge=0)]


class FieldType(RowRule):
    """The text must read as this type."""

    type: Literal["fieldType"]
    expected: Literal["string", "integer", "float", "boolean", "date", "timestamp", "json", "uuid"]


RULE_KINDS = (NotNull, Regex, Range, MaxLength, FieldType)
RULES: KindTable[type[RowRule]] = KindTable("row rule", ((tag_of(kind, "type"), kind) for kind in RULE_KINDS))
Rule = Annotated[NotNull | Regex | Range | MaxLength | FieldType, ByTag("type")]


def rule_id(rule: RowRule) -> str:
    """The rule's own id, else a short hash of its content: the same rule keeps it across edits elsewhere."""
    if rule.id is not None:
        return rule.id
    content = rule.model_dump(mode="json", by_alias=True, exclude_none=True)
    return "r-" + hashlib.sha256(rfc8785.dumps(content)).hexdigest()[:12]
