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
    """The names that fields have in documents, by their names in Python."""
    return {name: str(field.alias) for name, field in spec.model_fields.items()}


def _refuse_nulls(schema: CoreSchema) -> None:
    """Let no field of a model take null, whatever its annotation says for Python's sake."""
    inner: Any = schema
    while inner["type"] != "model-fields":
        inner = inner["schema"]
    for field in inner["fields"].values():
        default = field["schema"]
        if default["type"] == "default" and default["schema"]["type"] == "nullable":
            default["schema"] = default["schema"]["schema"]


class Spec(BaseModel):
    """A part of the document. Unknown keys, wrong types and nulls are errors; instances never change.

    A field `X | None = None` may be absent, never null: None only says in Python that it was not written.
    """

    model_config = ConfigDict(
        alias_generator=to_camel,
        field_title_generator=lambda name, _: name.strip("_").replace("_", " ").capitalize(),
        model_title_generator=lambda model: re.sub(r"(?<=.)([A-Z])", r" \1", model.__name__).capitalize(),
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        strict=True,
        # RE2 has no look-around, and its `$` does not take a trailing newline as Python's does.
        regex_engine="rust-regex",
    )

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler(source)
        _refuse_nulls(handler.resolve_ref_schema(schema))
        return schema

    @classmethod
    def read(cls, document: Any) -> Self:
        """This part from its JSON form; raises pydantic's ValidationError. Python's names of fields are not taken."""
        return cls.model_validate(document, by_alias=True, by_name=False)

    def to_document(self) -> dict[str, Any]:
        """The JSON form of this part, without fields that were not written."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        """What is wrong with this part in itself, beyond what its types say. `at` is where it stands."""
        yield from ()

    def kinds(self, at: Pointer) -> Iterator[tuple[str, str, Pointer]]:
        """The kinds that this part uses: family, name and the place where it is named."""
        yield from ()

    def parts(self, at: Pointer) -> Iterator[tuple[Spec, Pointer]]:
        """This part and all those below it, each with its place."""
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
"""An object whose content a schema of its own describes."""
