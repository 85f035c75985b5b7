"""Pipelines, versions and drafts in API requests and responses."""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework import serializers

from flowapp.api.serializers import (
    CamelSerializer,
    DiagnosticSerializer,
    JsonPatchField,
    NumberField,
    PipelineDocumentSerializer,
    ProblemSerializer,
    SkippedSerializer,
    TextField,
    ValueField,
    WireSerializer,
)
from flowapp.pipelines.drafts import DraftView
from flowapp.pipelines.models import Pipeline, PipelineVersion

MOST_CHARACTERS = 2000


class ScheduleSerializer(WireSerializer[Any]):
    """When a pipeline starts automatically: `cron` has an expression and a time zone, `every` an interval."""

    kind = serializers.ChoiceField(["cron", "every"])
    expression = serializers.CharField(required=False)
    timezone = serializers.CharField(required=False)
    interval = serializers.CharField(required=False, help_text="Such as `15m`.")
    jitter = serializers.CharField(required=False, help_text="The maximum delay of runs.")
    catch_up = serializers.ChoiceField(["latest", "skip", "all"], required=False, help_text="Default: `latest`.")


class PipelineSerializer(CamelSerializer[Pipeline]):
    id = serializers.CharField(source="slug")
    name = serializers.CharField()
    version = serializers.IntegerField(
        source="latest_number", help_text="The newest version; 0 before the first is saved."
    )
    enabled = serializers.BooleanField()
    paused = serializers.BooleanField()
    schedule = ScheduleSerializer(allow_null=True)
    next_fire_at = serializers.DateTimeField(allow_null=True)
    archived_at = serializers.DateTimeField(allow_null=True, help_text="An archived pipeline does not run.")


class PipelineListFilter(CamelSerializer[Any]):
    archived = serializers.BooleanField(required=False, help_text="Only archived pipelines. Default: only the others.")


class PipelineSwitches(CamelSerializer[Any]):
    """The switches to change. Absent switches stay unchanged."""

    enabled = serializers.BooleanField(required=False)
    paused = serializers.BooleanField(required=False, help_text="Whether the schedule is paused.")
    archived = serializers.BooleanField(required=False)


class VersionSerializer(CamelSerializer[PipelineVersion]):
    version = serializers.IntegerField(source="number")
    author = serializers.EmailField(source="author.email", allow_null=True)
    message = serializers.CharField()
    created_at = serializers.DateTimeField()
    sha256 = serializers.CharField(help_text="Of the document in its canonical form.")


class VersionWithDocumentSerializer(VersionSerializer):
    document = serializers.SerializerMethodField(help_text="The document's JSON text.")

    def get_document(self, version: PipelineVersion) -> str:
        return str(self.context["document"])


class YoursSerializer(CamelSerializer[Any]):
    version = serializers.IntegerField(help_text="The version on which the document is based.")
    document = serializers.CharField(help_text="The document's JSON text, which was not saved.")


class VersionConflictSerializer(ProblemSerializer):
    """A newer version was saved in the meantime: `current` is that version, `yours` the submitted document."""

    current = VersionWithDocumentSerializer()
    yours = YoursSerializer()


class DraftStepSerializer(CamelSerializer[Any]):
    position = serializers.IntegerField(source="number")
    label = serializers.CharField()  # type: ignore[assignment]  # a field, not the option of serializers
    at = serializers.DateTimeField()


class DraftSerializer(CamelSerializer[DraftView]):
    """A user's draft of a pipeline, with all diagnostics of its text."""

    text = serializers.CharField(source="draft.text")
    document = ValueField(help_text="The text as JSON; null if it cannot be read.")
    last_good = ValueField(help_text="The newest text that could be read, as JSON.")
    base_version = serializers.IntegerField(source="draft.base_number")
    latest_version = serializers.IntegerField(source="draft.pipeline.latest_number")
    position = serializers.IntegerField(source="draft.position", help_text="The number of the current step.")
    revision = serializers.CharField(
        source="draft.revision", help_text="A hash of the text, which changes with every edit."
    )
    changes = serializers.IntegerField(help_text="The number of steps since the version.")
    can_undo = serializers.BooleanField()
    can_redo = serializers.BooleanField()
    steps = DraftStepSerializer(many=True)
    diagnostics = DiagnosticSerializer(many=True, source="checked.diagnostics")
    skipped = SkippedSerializer(many=True, source="checked.skipped")
    read_only = serializers.SerializerMethodField(help_text="Whether this text cannot be edited as a document.")  # type: ignore[assignment]  # a field, not the option of serializers

    def get_read_only(self, view: DraftView) -> bool:
        return not self.context["can_edit"] or view.document is None


class ValidationSerializer(CamelSerializer[Any]):
    valid = serializers.SerializerMethodField()
    diagnostics = DiagnosticSerializer(many=True)
    skipped = SkippedSerializer(many=True)

    def get_valid(self, checked: Any) -> bool:
        return checked.pipeline is not None


class TextOrDocumentField(ValueField):
    schema_name = "TextOrDocument"
    schema: ClassVar = {
        "oneOf": [{"type": "string"}, {"$ref": "#/components/schemas/PipelineDocument"}],
        "description": "A pipeline, as JSON or as the text of a JSON or TOML document.",
    }


def _words(**more: Any) -> TextField:
    """An optional text field for a user or a program."""
    return TextField(default="", allow_blank=True, trim_whitespace=False, max_length=MOST_CHARACTERS, **more)


class PipelineRequest(CamelSerializer[Any]):
    """A `document`; or an `id` and a `name` for a pipeline without a version."""

    document = TextOrDocumentField(required=False)
    message = _words(help_text="What the version changes.")
    id = _words()
    name = _words()


class ValidationRequest(CamelSerializer[Any]):
    """The text or the document to validate."""

    document = PipelineDocumentSerializer(required=False)
    text = TextField(required=False)


class RestoreVersionRequest(CamelSerializer[Any]):
    version = NumberField(min_value=1)


class SaveDraftRequest(CamelSerializer[Any]):
    message = _words(help_text="What the version changes.")


class DraftTextRequest(CamelSerializer[Any]):
    text = TextField(allow_blank=True, trim_whitespace=False, help_text="The whole text, valid or not.")
    label = _words(help_text="The name of the step in the history.")  # type: ignore[assignment]  # a field, not the option of serializers
    position = NumberField(
        required=False, allow_null=True, help_text="The number of the step on which the change is based."
    )


class DraftPatchRequest(CamelSerializer[Any]):
    """A JSON Patch with its label. A bare JSON Patch is sent as `application/json-patch+json`."""

    patch = JsonPatchField()
    label = _words(help_text="The name of the step in the history.")  # type: ignore[assignment]  # a field, not the option of serializers
    position = NumberField(
        required=False, allow_null=True, help_text="The number of the step on which the change is based."
    )
