"""`flatten`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Literal

from pydantic import Field

from ir.columns import Columns
from ir.diagnostics import Diagnostic, diagnose, shown
from ir.json_paths import Step, check_json_path, parse_json_path
from ir.limits import MAX_COLUMNS
from ir.names import check_column
from ir.ops.base import Column, Op, Reads
from ir.ops.extract import OrReject
from ir.pointers import ROOT, Pointer
from ir.types import TypeName, check_type


class Flatten(Op):
    """Adds columns for the members of a JSON object.

    A column is named after the prefix and the names of its path, joined by an underscore. Text that is no JSON object,
    and a value that does not have the type, are type mismatches. A JSON null becomes NULL.
    """

    made_while_reading = True

    op: Literal["flatten"]
    field: Column = Field(
        title="Column", description="The column of JSON objects, or of text that is one. It stays as it is."
    )
    columns: Annotated[dict[Column, TypeName], Field(min_length=1, max_length=MAX_COLUMNS)] = Field(
        description="The paths of the members, such as $.customer.name, with their types. A path has names only; the "
        "type json takes what is below as it is.",
        examples=[{"$.id": "bigint", "$.customer.name": "string"}],
        json_schema_extra={"keyTitle": "Path", "valueTitle": "Type"},
    )
    prefix: Annotated[str, Field(max_length=63)] = Field("", description="Begins the names of the new columns.")
    on_missing: OrReject = Field(
        title="If a member is missing",
        description="What happens to a row without one of the members: the column is NULL, or the row is rejected.",
        json_schema_extra={"labels": {"null": "store NULL", "reject": "reject row"}},
    )
    on_unknown: Literal["ignore", "reject"] = Field(
        title="If there are other members",
        description="What happens to a row with a member that no path leads to: it is ignored, or the row is rejected.",
        json_schema_extra={"labels": {"ignore": "leave it out", "reject": "reject row"}},
    )

    def paths(self) -> dict[str, tuple[Step, ...]]:
        """Return the steps of each path. Raises ValueError for a document that was not checked."""
        return {path: parse_json_path(path) for path in self.columns}

    def name_of(self, path: str) -> str:
        return self.prefix + "_".join(map(str, parse_json_path(path)))

    def computes(self) -> Iterable[str]:
        return map(self.name_of, self.columns)

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        given: set[str] = set()
        for path, kind in self.columns.items():
            place = at / "columns" / path
            yield from check_type(kind, place)
            faults = list(_check_path(path, place))
            yield from faults
            if faults:
                continue
            name = self.name_of(path)
            yield from check_column(name, place)
            if name in given:
                yield diagnose("column.repeated", place, f"Two paths make a column {shown(name)}.")
            given.add(name)

    def reads(self, at: Pointer) -> Reads:
        yield self.field, at / "field"

    def adds(self, at: Pointer) -> Reads:
        return ((self.name_of(path), at / "columns" / path) for path in self._good_paths())

    def columns_after(self, columns: Columns) -> Columns:
        types = {self.name_of(path): self.columns[path] for path in self._good_paths()}
        return columns.with_added(types).cast(types)

    def _good_paths(self) -> Iterator[str]:
        return (path for path in self.columns if not any(_check_path(path, ROOT)))


def _check_path(path: str, at: Pointer) -> Iterator[Diagnostic]:
    faults = list(check_json_path(path, at))
    yield from faults
    if not faults and not (steps := parse_json_path(path)):
        yield diagnose("flatten.path", at, "$ is the whole object, not a member of it.")
    elif not faults and not all(isinstance(step, str) for step in steps):
        yield diagnose("flatten.path", at, f"{shown(path)} leads into an array.")
