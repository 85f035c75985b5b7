"""Ops that take a value out of a text: `regexExtract` and `jsonPath`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Literal

from pydantic import Field

from ir.base import Text
from ir.columns import Columns
from ir.diagnostics import Diagnostic, diagnose
from ir.json_paths import check_json_path
from ir.names import check_column
from ir.ops.base import Column, Op, Reads
from ir.pointers import Pointer
from ir.regexes import check_regex, group_count
from ir.types import TypeName, check_type

OrReject = Literal["null", "reject"]


class RegexExtract(Op):
    """Adds a text column with the part of another column that a pattern matches.

    Numbers and dates are matched in their canonical text. The first match in the text counts.
    """

    made_while_reading = True

    op: Literal["regexExtract"]
    field: Column = Field(title="Column", description="The column to search. It stays as it is.")
    pattern: Text = Field(
        description="RE2 syntax. The pattern may match anywhere in the text; ^ and $ anchor it.",
        examples=[r"order-(\d+)"],
    )
    group: Annotated[int, Field(ge=0, le=100)] = Field(
        1, description="The number of the group in parentheses that is taken; 0 is the whole match."
    )
    as_: Column = Field(alias="as", title="New column", description="The name of the column with the text found.")
    on_no_match: OrReject = Field(
        title="If nothing matches",
        description="What happens to a row in which the pattern or the group matches nothing, or that has NULL there: "
        "the new column is NULL, or the row is rejected.",
        json_schema_extra={"labels": {"null": "store NULL", "reject": "reject row"}},
    )

    def computes(self) -> Iterable[str]:
        return (self.as_,)

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_column(self.as_, at / "as")
        faults = list(check_regex(self.pattern, at / "pattern"))
        yield from faults
        if not faults and self.group > (groups := group_count(self.pattern)):
            message = f"The pattern has no group {self.group}. Number of its groups: {groups}."
            fixes = [[{"op": "add", "path": str(at / "group"), "value": groups}]]
            yield diagnose("regex.group_unknown", at / "group", message, fixes=fixes)

    def reads(self, at: Pointer) -> Reads:
        yield self.field, at / "field"

    def columns_after(self, columns: Columns) -> Columns:
        return columns.with_added([self.as_]).cast({self.as_: "string"})


class JsonPath(Op):
    """Adds a column with one value out of a column of JSON.

    Text that is not JSON, and a value that does not have the type, are type mismatches. A JSON null becomes NULL.
    """

    made_while_reading = True

    op: Literal["jsonPath"]
    field: Column = Field(title="Column", description="The column of JSON, or of text that is JSON. It stays as it is.")
    path: Annotated[str, Field(max_length=1000)] = Field(
        description="The path to the value: $ is the whole, .name or ['name'] a member of an object, [0] the first "
        "element of an array, [-1] the last.",
        examples=["$.customer.name"],
    )
    as_: Column = Field(alias="as", title="New column", description="The name of the column with the value.")
    type: TypeName = Field(
        description="The type of the new column. Numbers keep all digits. Objects and arrays need the type json."
    )
    on_missing: OrReject = Field(
        title="If there is no value",
        description="What happens to a row without a value at the path: the new column is NULL, or the row is "
        "rejected.",
        json_schema_extra={"labels": {"null": "store NULL", "reject": "reject row"}},
    )

    def computes(self) -> Iterable[str]:
        return (self.as_,)

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_column(self.as_, at / "as")
        yield from check_json_path(self.path, at / "path")
        yield from check_type(self.type, at / "type")

    def reads(self, at: Pointer) -> Reads:
        yield self.field, at / "field"

    def columns_after(self, columns: Columns) -> Columns:
        return columns.with_added([self.as_]).cast({self.as_: self.type})
