"""The file of compiled transforms, `pipelines/ID.transforms.json`: operations, and their source."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from ir.annotations import NoNewline
from ir.base import Id, Spec, Text
from ir.diagnostics import Diagnostic
from ir.json_schema import schema_of
from ir.limits import MAX_NODES
from ir.ops import AnyOp
from ir.pointers import Pointer

COMPILED = ".transforms.json"
TRANSFORMS_SCHEMA_ID = "https://flow.example/schemas/transforms-1.0.json"
ENGINE, ENGINE_VERSION = "flow-ops", "1.0"
Language = Literal["python", "typescript"]
LANGUAGES: dict[str, Language] = {".py": "python", ".ts": "typescript"}
"""The languages of sources by file name extension."""


class CompiledNode(Spec):
    """The operations of one transform node."""

    node: Id = Field(description="The ID of the transform node.")
    ops: Annotated[list[AnyOp], Field(min_length=1)] = Field(
        title="Operations", description="Operations, as in a transform node of a document."
    )


class CompiledTransforms(Spec):
    """Transforms that `flow compile` built from a source. Only `plan` is used; the other fields describe the source."""

    schema_uri: str | None = Field(
        None, alias="$schema", title="JSON Schema", description="The address of this schema, for editors."
    )
    pipeline_id: Id = Field(alias="pipeline_id", description="The ID of the pipeline that uses the plan.")
    engine: Literal["flow-ops"] = Field(description="The engine of the plan: operations of Flow documents.")
    engine_version: Literal["1.0"] = Field(alias="engine_version", description="The version of those documents.")
    source_lang: Language = Field(alias="source_lang", description="The language of the source.")
    source_file: Text = Field(
        alias="source_file",
        description="The source, relative to the folder of the project.",
        examples=["transforms/orders.py"],
    )
    source_hash: Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$"), NoNewline()] = Field(
        alias="source_hash", description="The SHA-256 of the source, with LF as line ends."
    )
    plan: Annotated[list[CompiledNode], Field(min_length=1, max_length=MAX_NODES)] = Field(
        description="The transform nodes with their operations."
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        for part, place in self.parts(at):
            if part is not self:
                yield from part.check(place)

    def ops_of(self, node: str) -> list[dict[str, Any]] | None:
        """Return the operations of a node in the form of a document; None if there is no such node."""
        return next((one.to_document()["ops"] for one in self.plan if one.node == node), None)


def hash_source(content: bytes) -> str:
    """Return the hash of a source. It ignores the kind of line ends, because git may convert them."""
    return "sha256:" + hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest()


def transforms_schema() -> dict[str, Any]:
    """Return the JSON Schema of compiled transforms."""
    return schema_of(CompiledTransforms) | {"$id": TRANSFORMS_SCHEMA_ID, "title": "Flow transforms, version 1.0"}
