"""The base of every IR model: closed, frozen, strict, camelCase in documents and snake_case in Python."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, StringConstraints
from pydantic.alias_generators import to_camel


class Spec(BaseModel):
    """A part of the document. Unknown keys, wrong types and nulls are errors; instances never change."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        strict=True,
        # RE2 has no look-around, and its `$` does not take a trailing newline as Python's does.
        regex_engine="rust-regex",
    )

    def to_document(self) -> dict[str, Any]:
        """The JSON form of this part, without fields that were not written."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


Id = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,62}$")]
"""An id of a pipeline, node, rule or connection."""

Text = Annotated[str, StringConstraints(max_length=10_000)]
