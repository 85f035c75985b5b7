"""`custom`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Literal, get_args

from pydantic import Field, StringConstraints

from ir.annotations import NoNewline
from ir.base import Object, Spec
from ir.columns import Columns
from ir.diagnostics import Diagnostic, diagnose, shown
from ir.limits import MAX_COLUMNS
from ir.names import check_column, check_repeated
from ir.ops.base import Column, ColumnList, Op, Reads, items
from ir.pointers import Pointer
from ir.types import TypeName, check_type

Access = Literal["clock", "random"]
ACCESSES: tuple[Access, ...] = get_args(Access)
ERROR_COLUMN = "_error"
"""The column of a module's result with the reason for which it rejects a row, or NULL."""

ModuleRef = Annotated[
    str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,62}@sha256:[0-9a-f]{64}$", max_length=200), NoNewline()
]
"""The name of a module and the SHA-256 of its bytes, so that a version always runs the same code."""


class CustomColumn(Spec):
    """A column that a module computes."""

    name: Column = Field(title="Column", description="The name. A column of the rows with this name is replaced.")
    type: TypeName = Field(description="The type of the values.")

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_column(self.name, at / "name")
        yield from check_type(self.type, at / "type")
        if self.name == ERROR_COLUMN:
            message = f"{shown(ERROR_COLUMN)} is the column with which a module rejects rows."
            yield diagnose("custom.column_reserved", at / "name", message)


class Custom(Op):
    """Computes columns with a WebAssembly module that an admin has uploaded.

    The module gets the columns of `fields` and nothing else. It computes each row alone. It can reject rows, but not
    add, remove or move them.
    """

    op: Literal["custom"]
    module: ModuleRef = Field(
        description="The module, as its name, @sha256: and the SHA-256 of its bytes.",
        examples=["iban-check@sha256:" + "0" * 64],
    )
    fields: ColumnList = Field(
        title="Input columns",
        description="The columns that the module gets, in this order.",
        json_schema_extra={"suggests": "columns"},
    )
    columns: Annotated[list[CustomColumn], Field(min_length=1, max_length=MAX_COLUMNS)] = Field(
        title="Columns to compute", description="The columns that the module returns."
    )
    config: Object | None = Field(None, description="A JSON object of settings that the module gets.")
    access: Annotated[list[Access], Field(max_length=len(ACCESSES))] = Field(
        [],
        description="What the module needs of the host: clock is the time, random are random bytes. An admin must have "
        "granted it. Without it, both are constants. Files, network and environment are never accessible.",
    )

    @property
    def name(self) -> str:
        """Return the name of the module."""
        return self.module.partition("@")[0]

    @property
    def sha256(self) -> str:
        """Return the hash of the module, in hex."""
        return self.module.rpartition(":")[2]

    @property
    def made(self) -> dict[str, str]:
        """Return the columns that the op computes, with their types."""
        return {column.name: column.type for column in self.columns}

    def computes(self) -> Iterable[str]:
        return self.made

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_repeated(self.fields, at / "fields")
        yield from check_repeated(self.access, at / "access")
        given: set[str] = set()
        for i, column in enumerate(self.columns):
            yield from column.check(at / "columns" / i)
            if column.name in given:
                message = f"Two columns get the name {shown(column.name)}."
                yield diagnose("column.repeated", at / "columns" / i / "name", message)
            given.add(column.name)

    def reads(self, at: Pointer) -> Reads:
        yield from items(self.fields, at / "fields")

    def columns_after(self, columns: Columns) -> Columns:
        return columns.with_added(self.made).cast(self.made)
