"""Type annotations that restrict values, for the validator and for the JSON Schema alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema


class NoNewline:
    """Makes a JSON Schema pattern that ends in `$` refuse a trailing newline, which the `$` of the schema's reader
    would accept."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(schema) | {"not": {"pattern": "\\n"}}


class AnyObject:
    """Allows any object in the JSON Schema."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "object"}


class ByTag:
    """A union of models in which the tag alone selects the model, so that errors are those of that model.

    The step that pydantic adds to the location of an error is a negative number, which is neither a key nor an index of
    a document.
    """

    def __init__(self, key: str) -> None:
        self.key = key

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        members = {-i: member for i, member in enumerate(get_args(source), 1)}
        by_type = {member: i for i, member in members.items()}
        by_name = {tag_of(member, self.key): i for i, member in members.items()}

        def choose(value: Any) -> int | None:
            if not isinstance(value, dict):
                return by_type.get(type(value))
            name = value.get(self.key)
            return by_name.get(name) if isinstance(name, str) else None

        return core_schema.tagged_union_schema(
            {i: handler.generate_schema(member) for i, member in members.items()},
            choose,
            custom_error_type="tag",
            custom_error_message="unknown tag",
            custom_error_context={"key": self.key, "allowed": " ".join(by_name)},
        )


def tag_of(model: Any, key: str) -> str:
    """Return the only value that the tag of a model may have."""
    (name,) = get_args(model.model_fields[key].annotation)
    return str(name)


class OneOrMany:
    """`X | list[X]`: a list is validated as a list and everything else as one X, so that errors are never those of
    both."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        one, many = get_args(source)
        return core_schema.tagged_union_schema(
            {-1: handler.generate_schema(one), -2: handler.generate_schema(many)},
            lambda value: -2 if isinstance(value, list) else -1,
        )


class TextOrObject:
    """`text | model`: an object is validated as the model and everything else as text, so that errors are never those
    of both."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        text, model = get_args(source)
        return core_schema.tagged_union_schema(
            {-1: handler.generate_schema(text), -2: handler.generate_schema(model)},
            lambda value: -2 if isinstance(value, dict | BaseModel) else -1,
        )


_PYTHON_TYPES: dict[str, tuple[type, ...]] = {"number": (int, float), "string": (str,), "boolean": (bool,)}


@dataclass(frozen=True)
class JsonScalar:
    """A scalar of one of these JSON types in its original form (1 stays 1, 1.0 stays 1.0)."""

    types: tuple[str, ...]
    ge: float | None = None
    gt: float | None = None
    le: float | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._check)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        bounds = {"minimum": self.ge, "exclusiveMinimum": self.gt, "maximum": self.le}
        made: JsonSchemaValue = {"type": self.types[0] if len(self.types) == 1 else list(self.types)}
        return made | {name: bound for name, bound in bounds.items() if bound is not None}

    def _check(self, value: Any) -> Any:
        if not any(self._is(name, value) for name in self.types):
            raise PydanticCustomError("scalar_type", "wrong type", {"expected": " or ".join(self.types)})
        if self.ge is not None and value < self.ge:
            raise PydanticCustomError("greater_than_equal", "too small", {"ge": self.ge})
        if self.gt is not None and value <= self.gt:
            raise PydanticCustomError("greater_than", "too small", {"gt": self.gt})
        if self.le is not None and value > self.le:
            raise PydanticCustomError("less_than_equal", "too large", {"le": self.le})
        return value

    @staticmethod
    def _is(name: str, value: Any) -> bool:
        return isinstance(value, _PYTHON_TYPES[name]) and (name == "boolean") == isinstance(value, bool)
