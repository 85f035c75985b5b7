"""Changes of columns in API responses and command output."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from flowapp.api.serializers import CamelSerializer
from flowapp.schema_changes.models import ChangeState, ColumnChange


class ChangeFilter(CamelSerializer[Any]):
    pipeline = serializers.CharField(required=False)
    state = serializers.ChoiceField(ChangeState.choices, required=False)


class ColumnChangeSerializer(CamelSerializer[ColumnChange]):
    """A difference between the columns of a source and of a table."""

    id = serializers.UUIDField()
    pipeline = serializers.CharField(source="pipeline.slug")
    node = serializers.CharField(help_text="The target.")
    connection = serializers.CharField()
    schema = serializers.CharField()
    table = serializers.CharField()
    kind = serializers.CharField(help_text="add, drop, widen, narrow, rename or key.")
    column = serializers.CharField()
    message = serializers.CharField(source="sentence")
    statement = serializers.CharField(help_text="The statement that alters the table; empty if none is needed.")
    rewrites = serializers.BooleanField(help_text="Whether PostgreSQL writes all rows of the table anew.")
    table_bytes = serializers.IntegerField(help_text="The size of the table and its indexes, if it is rewritten.")
    why_not = serializers.CharField(help_text="Why a load cannot follow the change without a decision, or at all.")
    state = serializers.ChoiceField(ChangeState.choices)
    run = serializers.UUIDField(
        source="run_id", allow_null=True, help_text="The run that has seen the change last, or has followed it."
    )
    first_seen_at = serializers.DateTimeField()
    seen_at = serializers.DateTimeField()
    decided_by = serializers.CharField(source="decided_as")
    decided_at = serializers.DateTimeField(allow_null=True)
    reason = serializers.CharField()


class Acceptance(CamelSerializer[Any]):
    reason = serializers.CharField(max_length=2000, required=False, default="", allow_blank=True)
    run = serializers.BooleanField(required=False, default=False, help_text="Whether to run the pipeline at once.")
