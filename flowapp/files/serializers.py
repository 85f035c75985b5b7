"""Files and detection results in API requests and responses."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from executors.api import Detection, GivenSettings
from flowapp.api.serializers import CamelSerializer, OptionalTextField, WireSerializer
from flowapp.runs.load_units.models import LoadUnit, UnitState
from flowapp.runs.load_units.selectors import is_to_be_loaded_again
from ir.annotations import tag_of
from ir.formats import READABLE


class FileFilter(CamelSerializer[Any]):
    pipeline = serializers.CharField(required=False)
    run = serializers.UUIDField(required=False)
    state = serializers.ChoiceField(UnitState.choices, required=False)


class UploadRequest(CamelSerializer[Any]):
    folder = serializers.CharField(max_length=500, allow_blank=True, default="")
    file = serializers.FileField(required=False)


class UploadedSerializer(CamelSerializer[Any]):
    path = serializers.CharField(help_text="The path of the file, relative to the workspace's folder.")


class FileSerializer(CamelSerializer[LoadUnit]):
    """A file that a pipeline has found."""

    id = serializers.UUIDField()
    pipeline = serializers.CharField(source="pipeline.slug")
    node = serializers.CharField()
    name = serializers.CharField(help_text="Relative to the workspace's folder.")
    sha256 = serializers.CharField()
    size = serializers.IntegerField(help_text="In bytes.")
    rows = serializers.IntegerField(allow_null=True)
    state = serializers.ChoiceField(UnitState.choices)
    reason = OptionalTextField()
    run = serializers.UUIDField(source="run_id", allow_null=True)
    load_again = serializers.SerializerMethodField(help_text="Whether the next run loads it again.")
    load_again_reason = OptionalTextField(source="forgotten_reason")
    changed_at = serializers.DateTimeField()

    def get_load_again(self, unit: LoadUnit) -> bool:
        return is_to_be_loaded_again(unit)


class UndoTargetSerializer(CamelSerializer[Any]):
    """What an undo would delete from one target."""

    node = serializers.CharField()
    table = serializers.CharField(source="found.table")
    rows = serializers.IntegerField(source="found.rows", help_text="The rows that would be deleted.")
    missing = serializers.IntegerField(
        source="found.missing", help_text="Rows of the same runs that the table no longer has as they were loaded."
    )
    others = serializers.IntegerField(
        source="found.others", help_text="Rows of the same bytes that stay, because another pipeline wrote them last."
    )
    unattributed = serializers.IntegerField(
        source="found.unattributed", help_text="Replayed rows that stay, because their file is not recorded."
    )
    triggers = serializers.ListField(
        child=serializers.CharField(), source="found.triggers", help_text="Triggers that run when rows are deleted."
    )
    runs = serializers.ListField(child=serializers.IntegerField(), help_text="The numbers of the runs that loaded it.")


class UndoPreviewSerializer(CamelSerializer[Any]):
    """What an undo of a file would delete."""

    file = serializers.UUIDField(source="unit.pk")
    name = serializers.CharField(source="unit.name")
    pipeline = serializers.CharField(source="unit.pipeline.slug")
    rows = serializers.IntegerField(help_text="The rows that would be deleted from all targets.")
    targets = UndoTargetSerializer(many=True)


class UndoRequest(CamelSerializer[Any]):
    reason = serializers.CharField(max_length=2000)
    rows = serializers.IntegerField(min_value=0, help_text="The number of rows to delete, as the preview shows it.")


# --- detection ---------------------------------------------------------------------------------------------------

FORMAT_TYPES = tuple(tag_of(kind, "type") for kind in READABLE)


class FormatSerializer(WireSerializer[Any]):
    """The format of a source as in the document. Formats without settings only have a type."""

    type = serializers.ChoiceField(FORMAT_TYPES, required=False)
    delimiter = serializers.CharField(required=False, trim_whitespace=False, max_length=1)
    quote = serializers.CharField(required=False, trim_whitespace=False, max_length=1)
    encoding = serializers.CharField(required=False, max_length=40, help_text="The Python name of the encoding.")
    header = serializers.BooleanField(required=False, help_text="Whether the first line contains the column names.")
    null_values = serializers.ListField(
        child=serializers.CharField(trim_whitespace=False, allow_blank=True, max_length=1000),
        required=False,
        max_length=100,
        help_text="Texts that are read as NULL.",
    )


class DetectRequest(CamelSerializer[Any]):
    """A file, and the settings that are known. Absent settings are detected."""

    path = serializers.CharField(
        max_length=1000, trim_whitespace=False, help_text="Relative to the workspace's folder."
    )
    format = FormatSerializer(required=False)

    def given(self) -> GivenSettings:
        """Return the settings of a valid request."""
        settings = dict(self.validated_data.get("format", {}))
        nulls = settings.pop("nullValues", None)
        return GivenSettings(**settings, null_values=None if nulls is None else tuple(nulls))


class DetectedColumnSerializer(CamelSerializer[Any]):
    name = serializers.CharField(help_text="As in the file.")
    target_name = serializers.CharField(help_text="A proposed name for the column of a table.")
    type = serializers.CharField(help_text="A column type of the document that the values are read as.")
    formats = serializers.ListField(
        child=serializers.CharField(), help_text="Strptime formats of its dates; none for ISO 8601."
    )
    decimal_separator = serializers.CharField(allow_null=True, help_text="Null for a point without group separator.")
    group_separator = serializers.CharField(allow_null=True)
    null_rate = serializers.FloatField(help_text="The share of rows without a value, 0 to 1.")
    distinct = serializers.IntegerField(help_text="The number of different values.")
    min = serializers.CharField(allow_null=True)
    max = serializers.CharField(allow_null=True)
    samples = serializers.ListField(child=serializers.CharField(allow_blank=True))
    note = OptionalTextField(help_text="Why the column stays text, if that may be unexpected.")


class KeySerializer(CamelSerializer[Any]):
    """Columns without NULL that identify all rows, or nearly all."""

    columns = serializers.ListField(child=serializers.CharField())
    is_unique = serializers.BooleanField()
    is_likely = serializers.BooleanField(help_text="Whether it is the first column or has a typical key name.")
    repeated = serializers.ListField(child=serializers.CharField(allow_blank=True), help_text="Values of several rows.")


class FileProblemSerializer(CamelSerializer[Any]):
    code = serializers.CharField(help_text="Stable; docs/reference/detect.md lists them.")
    message = serializers.CharField()
    hint = serializers.CharField(help_text="What to do.")
    column = serializers.CharField(allow_null=True)
    line = serializers.IntegerField(allow_null=True)


class DetectionSerializer(CamelSerializer[Detection]):
    format = FormatSerializer(source="format.to_document")
    columns = DetectedColumnSerializer(many=True)
    keys = KeySerializer(many=True, help_text="The most likely first.")
    problems = FileProblemSerializer(many=True)
    rows = serializers.ListField(
        child=serializers.ListField(child=serializers.CharField(allow_null=True, allow_blank=True)),
        help_text="The first rows, with a value for each column.",
    )
    rows_read = serializers.IntegerField(help_text="The number of rows from which the columns were inferred.")
    is_whole = serializers.BooleanField(help_text="Whether these are all rows of the file.")
