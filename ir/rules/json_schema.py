"""`jsonSchema`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from ir.base import Object
from ir.diagnostics import Diagnostic
from ir.instance_schemas import check_instance_schema
from ir.pointers import Pointer
from ir.rules.base import FieldRule


class JsonSchema(FieldRule):
    """The text must be JSON that matches a JSON Schema. '' and text that is not JSON fail."""

    type: Literal["jsonSchema"]
    schema_: Object = Field(
        alias="schema",
        title="JSON Schema",
        description="A schema of draft 2020-12. Its patterns are RE2, and its references stay within it.",
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from super().check(at)
        yield from check_instance_schema(self.schema_, at / "schema")
