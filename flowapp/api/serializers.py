"""Base serializers of the API: camel case names, unpaged lists, and problem responses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, TypeVar

from pydantic.alias_generators import to_camel
from rest_framework import serializers

T = TypeVar("T")


class CamelSerializer(serializers.Serializer[T]):
    """A serializer whose fields are declared in snake case and sent in camel case: `started_at` as `startedAt`.

    Serializers of responses are named `…Serializer` and build what the API and `--json` of the command line return;
    those of bodies are named `…Request`, those of query parameters `…Filter`."""

    def get_fields(self) -> dict[str, Any]:
        return {to_camel(name): _with_source(field, name) for name, field in super().get_fields().items()}


def _with_source(field: Any, name: str) -> Any:
    """Bind the field's Python name as its source, because the field itself is bound to its camel case name."""
    if isinstance(field, serializers.SerializerMethodField):
        field.method_name = field.method_name or f"get_{name}"
    elif field.source is None and to_camel(name) != name:
        field.source = name
    return field


class WireSerializer(serializers.Serializer[T]):
    """A CamelSerializer for mappings whose keys are already camel case."""

    def get_fields(self) -> dict[str, Any]:
        return {to_camel(name): field for name, field in super().get_fields().items()}


class TextField(serializers.CharField):
    """A text field that rejects numbers, which DRF's own field accepts."""

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class NumberField(serializers.IntegerField):
    """A whole number field that rejects text, which DRF's own field accepts."""

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, bool) or not isinstance(data, int):
            self.fail("invalid")
        return super().to_internal_value(data)


class MomentMethodField(serializers.SerializerMethodField):
    """A timestamp that a method returns, in the format of `DateTimeField`."""

    def to_representation(self, value: Any) -> Any:
        moment = super().to_representation(value)
        return None if moment is None else serializers.DateTimeField().to_representation(moment)


class OptionalTextField(serializers.CharField):
    """A text field that is null in JSON if Python has ''."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(allow_null=True, **kwargs)

    def to_representation(self, value: Any) -> Any:
        return super().to_representation(value) or None


def represent_all(kind: type[serializers.BaseSerializer[Any]], rows: Iterable[Any]) -> list[dict[str, Any]]:
    """Return the representation of each row by a serializer of that kind."""
    return list(kind(rows, many=True).data)


class WholeListSerializer(CamelSerializer[Any]):
    """A list without pages, in the envelope of paged lists. Subclasses add `results`."""

    next = serializers.URLField(read_only=True, allow_null=True, default=None, help_text="Always null.")
    previous = serializers.URLField(read_only=True, allow_null=True, default=None, help_text="Always null.")


class PerKindSerializer(serializers.BaseSerializer[T]):
    """An object with different fields for each kind. The OpenAPI document lists one component for each kind."""

    @classmethod
    def variants(cls) -> list[type[CamelSerializer[Any]]]:
        """Return the serializer of each kind."""
        raise NotImplementedError


class FreeForm(serializers.JSONField):
    """A value whose structure the API does not define. In the OpenAPI document, each subclass is a component."""

    schema_name: ClassVar[str]
    schema: ClassVar[dict[str, Any]]


class PipelineDocumentSerializer(serializers.BaseSerializer[Any]):
    """A pipeline document, unchanged."""

    schema: ClassVar = {
        "type": "object",
        "additionalProperties": {},
        "description": "A pipeline. Its JSON Schema is published at `/api/schema/pipeline.json`.",
        "externalDocs": {"description": "JSON Schema", "url": "/api/schema/pipeline.json"},
    }

    def to_representation(self, instance: Any) -> Any:
        return instance


class DocumentPartField(FreeForm):
    schema_name = "PipelineDocumentPart"
    schema: ClassVar = {
        "type": "object",
        "additionalProperties": {},
        "description": "An object inside a pipeline, such as a rule. `/api/schema/pipeline.json` has its JSON Schema.",
        "externalDocs": {"description": "JSON Schema", "url": "/api/schema/pipeline.json"},
    }


class RowField(FreeForm):
    schema_name = "Row"
    schema: ClassVar = {
        "type": "object",
        "additionalProperties": {},
        "description": "Values of a row by column. The source or the table says which columns there are.",
    }


class ValueField(FreeForm):
    schema_name = "Value"
    schema: ClassVar = {"description": "Any JSON value."}


class JsonPatchField(FreeForm):
    schema_name = "JsonPatch"
    schema: ClassVar = {
        "type": "array",
        "description": "A JSON Patch (RFC 6902).",
        "items": {
            "type": "object",
            "required": ["op", "path"],
            "properties": {
                "op": {"type": "string", "enum": ["add", "remove", "replace", "move", "copy", "test"]},
                "path": {"type": "string"},
                "from": {"type": "string"},
                "value": {},
            },
        },
    }


class DiagnosticSerializer(CamelSerializer[Any]):
    """An error or a warning of a document."""

    path = serializers.CharField(help_text="The location: a JSON Pointer (RFC 6901) into the document.")
    code = serializers.CharField()
    severity = serializers.ChoiceField(["warning", "error"])
    message = serializers.CharField()
    hint = serializers.CharField(help_text="What to do.")
    line = serializers.IntegerField(allow_null=True, help_text="Counted from 1, if the text is known.")
    column = serializers.IntegerField(allow_null=True, help_text="In characters, counted from 1.")
    fixes = serializers.ListField(child=JsonPatchField(), help_text="Edits that fix the problem.")


class SkippedSerializer(CamelSerializer[Any]):
    """A rule that the parser could not apply to the document."""

    code = serializers.CharField()
    path = serializers.CharField()
    reason = serializers.CharField()


class ErrorSerializer(CamelSerializer[Any]):
    """The code, message and hint of a FlowError."""

    code = serializers.CharField(help_text="Stable, for programs; docs/reference/errors.md lists all.")
    node = serializers.CharField(allow_null=True, help_text="The node of the pipeline, if the error belongs to one.")
    message = serializers.CharField()
    hint = serializers.CharField(help_text="What to do.")


class FieldErrorsField(FreeForm):
    schema_name = "FieldErrors"
    schema: ClassVar = {
        "description": "For each field that is wrong, `{message, code}` of each fault; nested as the body is."
    }


class ProblemSerializer(CamelSerializer[Any]):
    """A problem body (RFC 9457). `code`, `detail` and `hint` are more specific than the status."""

    type = serializers.CharField(help_text="The URL of the code's section in the documentation.")
    title = serializers.CharField()
    status = serializers.IntegerField()
    code = serializers.CharField(help_text="Stable, for programs; docs/reference/errors.md lists all.")
    detail = serializers.CharField(help_text="What happened, for people.")
    hint = serializers.CharField(help_text="What to do, for people; may be empty.")
    node = serializers.CharField(required=False, help_text="The node of the pipeline, if the error belongs to one.")
    id = serializers.CharField(required=False, help_text="The id of this response in the server's log.")
    fields = FieldErrorsField(required=False)  # type: ignore[assignment]  # a field, not the fields of serializers
    diagnostics = DiagnosticSerializer(many=True, required=False)
    skipped = SkippedSerializer(many=True, required=False)


class QueuedRunSerializer(CamelSerializer[Any]):
    run = serializers.UUIDField(source="pk", help_text="The run that does it.")
