"""The base of every IR model: closed, frozen, strict, camelCase in documents and snake_case in Python."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, StringConstraints
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema

from ir.annotations import AnyObject, JsonScalar, NoNewline
from ir.diagnostics import Diagnostic
from ir.pointers import Pointer


@cache
def _aliases(spec: type[Spec]) -> dict[str, str]:
    """Return the names of fields in documents by their names in Python."""
    return {name: str(field.alias) for name, field in spec.model_fields.items()}


def _refuse_nulls(schema: CoreSchema) -> None:
    """Make all fields of a model refuse null, even if their annotation allows None."""
    inner: Any = schema
    while inner["type"] != "model-fields":
        inner = inner["schema"]
    for field in inner["fields"].values():
        default = field["schema"]
        if default["type"] == "default" and default["schema"]["type"] == "nullable":
            default["schema"] = default["schema"]["schema"]


class Spec(BaseModel):
    """A part of the document. Unknown keys, wrong types and nulls are errors; instances are immutable.

    A field `X | None = None` may be absent but not null: None means that the document does not have the field.
    """

    model_config = ConfigDict(
        alias_generator=to_camel,
        field_title_generator=lambda name, _: name.strip("_").replace("_", " ").capitalize(),
        model_title_generator=lambda model: re.sub(r"(?<=.)([A-Z])", r" \1", model.__name__).capitalize(),
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        strict=True,
        # RE2 has no look-around, and its `$` does not match before a trailing newline, unlike Python's.
        regex_engine="rust-regex",
    )

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler(source)
        _refuse_nulls(handler.resolve_ref_schema(schema))
        return schema

    @classmethod
    def read(cls, document: Any) -> Self:
        """Read the part from its JSON form; raises pydantic's ValidationError. Field names are those of documents."""
        return cls.model_validate(document, by_alias=True, by_name=False)

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form of the part, without fields that the document does not have."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        """Yield the errors of the part itself, beyond its types. `at` is its position in the document."""
        yield from ()

    def kinds(self, at: Pointer) -> Iterator[tuple[str, str, Pointer]]:
        """Yield the kinds that the part uses: family, name and the position of the name."""
        yield from ()

    def parts(self, at: Pointer) -> Iterator[tuple[Spec, Pointer]]:
        """Yield the part and all parts below it, each with its position."""
        yield self, at
        aliases = _aliases(type(self))
        for name in self.model_fields_set:
            value, field_at = getattr(self, name), at / aliases[name]
            if isinstance(value, Spec):
                yield from value.parts(field_at)
            elif isinstance(value, list):
                for i, item in enumerate(value):
                    if isinstance(item, Spec):
                        yield from item.parts(field_at / i)


Id = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,62}$"), NoNewline()]
"""An id of a pipeline, node, rule or connection."""

Text = Annotated[str, StringConstraints(max_length=10_000)]
Number = Annotated[int | float, JsonScalar(("number",))]
PositiveNumber = Annotated[int | float, JsonScalar(("number",), gt=0)]
NonNegativeNumber = Annotated[int | float, JsonScalar(("number",), ge=0)]
Object = Annotated[dict[str, Any], AnyObject()]
"""An object that has a schema of its own."""
