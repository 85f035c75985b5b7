"""`jsonSchema`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from ir.base import Object
from ir.diagnostics import Diagnostic
from ir.instance_schemas import check_instance_schema
from ir.pointers import Pointer
from ir.rules.base import FieldRule


class JsonSchema(FieldRule):
    """The text must be JSON that follows this JSON Schema (draft 2020-12). What is no JSON fails, and so does ''.

    Patterns are RE2; references stay within the schema.
    """

    type: Literal["jsonSchema"]
    schema_: Annotated[Object, Field(alias="schema")]

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from super().check(at)
        yield from check_instance_schema(self.schema_, at / "schema")
