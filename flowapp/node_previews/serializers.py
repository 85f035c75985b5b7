"""Previews of nodes in API responses."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from executors.api import SAMPLE_KINDS
from flowapp.api.serializers import CamelSerializer, ErrorSerializer, NumberField, ValueField


class NodePreviewRequest(CamelSerializer[Any]):
    pipeline = serializers.CharField()
    node = serializers.CharField(help_text="A node of your draft.")
    sample = serializers.ChoiceField(
        SAMPLE_KINDS,
        default="first",
        help_text="`first`: the first rows. `random`: random ones. `failing`: rows that the node rejects or warns of.",
    )
    seed = NumberField(default=0, min_value=0, max_value=2**31 - 1, help_text="The seed for random rows.")


class ColumnPreviewSerializer(CamelSerializer[Any]):
    name = serializers.CharField()
    type = serializers.CharField()
    values = serializers.IntegerField(help_text="Rows that were counted.")
    nulls = serializers.IntegerField()
    distinct = serializers.IntegerField(help_text="Distinct values, without NULL.")


class RulePreviewSerializer(CamelSerializer[Any]):
    rule_id = serializers.CharField()
    type = serializers.CharField()
    field = serializers.CharField(allow_null=True)
    on_fail = serializers.CharField()
    violations = serializers.IntegerField()
    evaluated = serializers.IntegerField(allow_null=True, help_text="Rows that the rule evaluated.")
    message = serializers.CharField()


class ViolationPreviewSerializer(CamelSerializer[Any]):
    rule_id = serializers.CharField()
    field = serializers.CharField(allow_null=True)
    message = serializers.CharField()
    severity = serializers.ChoiceField(["skip", "warn", "abort"])


class RowPreviewSerializer(CamelSerializer[Any]):
    file = serializers.CharField(help_text="The file or the table.")
    record = serializers.IntegerField()
    element = serializers.IntegerField(
        allow_null=True, help_text="Of which element of the record explode made the row, beginning with 0."
    )
    result = serializers.ChoiceField(
        ["passed", "warned", "rejected", "filtered", "stops"], help_text="`stops`: the row ends a run."
    )
    before = serializers.ListField(
        child=ValueField(), allow_null=True, help_text="In the order of the columns before the node."
    )
    after = serializers.ListField(
        child=ValueField(), allow_null=True, help_text="Null if the node does not pass the row on."
    )
    violations = ViolationPreviewSerializer(many=True)
    unreadable = serializers.ListField(
        child=serializers.CharField(), help_text="Columns whose value does not have their type and is NULL."
    )
    raw = serializers.CharField(allow_null=True, help_text="The text of a record that cannot be read.")


UNITS = ("record", "row")


class NodePreviewResultSerializer(CamelSerializer[Any]):
    """What a run would do at the node with the sampled rows. Long texts are cut."""

    kind = serializers.CharField()
    extent = serializers.CharField(help_text="The part of the source that was read.")
    rows_read = serializers.IntegerField()
    rows_in = serializers.IntegerField()
    rows_out = serializers.IntegerField()
    rows_filtered = serializers.IntegerField()
    rows_rejected = serializers.IntegerField()
    unit_in = serializers.ChoiceField(UNITS, help_text="What rowsIn counts: records until they are exploded.")
    unit_out = serializers.ChoiceField(UNITS, help_text="What rowsOut counts.")
    unit_rejected = serializers.ChoiceField(UNITS, help_text="What rowsRejected and the counts of rules count.")
    before = ColumnPreviewSerializer(many=True, help_text="The columns that reach the node.")
    after = ColumnPreviewSerializer(many=True, help_text="The columns that leave the node.")
    rules = RulePreviewSerializer(many=True)
    rows = RowPreviewSerializer(many=True, help_text="At most 200.")
    notes = serializers.ListField(child=serializers.CharField(), help_text="How a run may differ from the preview.")


class NodePreviewSerializer(CamelSerializer[Any]):
    id = serializers.UUIDField()
    pipeline = serializers.CharField()
    node = serializers.CharField()
    sample = serializers.ChoiceField(SAMPLE_KINDS)
    state = serializers.ChoiceField(["queued", "starting_spark", "running", "succeeded", "failed", "cancelled"])
    error = ErrorSerializer(allow_null=True, help_text="Why the preview has no rows, or what it waits for.")
    result = NodePreviewResultSerializer(allow_null=True)
