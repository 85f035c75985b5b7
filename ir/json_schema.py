"""JSON Schema (draft 2020-12) of the types in `ir`, and a validator that accepts the same values."""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.protocols import Validator
from jsonschema.validators import extend
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core import core_schema

from ir.base import Spec

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class SchemaGenerator(GenerateJsonSchema):
    """Omits null defaults: a field that may be absent may still not be null."""

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        made = super().default_schema(schema)
        if made.get("default", ...) is None:
            del made["default"]
        return made

    def encode_default(self, dflt: Any) -> Any:
        return dflt.to_document() if isinstance(dflt, Spec) else super().encode_default(dflt)


def schema_of(model: type[BaseModel], mode: JsonSchemaMode = "validation") -> dict[str, Any]:
    """Return the JSON Schema of a part of the document."""
    return {"$schema": DIALECT} | model.model_json_schema(by_alias=True, schema_generator=SchemaGenerator, mode=mode)


def _is_integer(checker: Any, value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_Validator = extend(
    Draft202012Validator,
    # JSON Schema accepts 1.0 as an integer, Flow does not.
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer),
)


def validator_for(schema: dict[str, Any]) -> Validator:
    """Return a validator for which `1.0` is not an integer, like for the types of the document."""
    return _Validator(schema)
