"""Backfills and chunks in API responses and command output."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from flowapp.api.serializers import CamelSerializer
from flowapp.backfills.models import Chunk, ChunkStatus
from flowapp.backfills.phases import Phase


class ChunkCountsSerializer(serializers.Serializer[Any]):
    done = serializers.IntegerField(help_text="Loaded chunks, also those without rows.")
    running = serializers.IntegerField()
    pending = serializers.IntegerField()
    failed = serializers.IntegerField()
    empty = serializers.IntegerField(help_text="How many of the loaded chunks had no row.")
    outdated = serializers.IntegerField(
        help_text="How many of the loaded chunks the newest version of the pipeline would load in another way."
    )
    total = serializers.IntegerField()


class ThroughputSerializer(serializers.Serializer[Any]):
    rows_per_sec = serializers.FloatField(allow_null=True)
    bytes_per_sec = serializers.IntegerField(allow_null=True)


class BackfillErrorSerializer(serializers.Serializer[Any]):
    code = serializers.CharField()
    message = serializers.CharField()
    hint = serializers.CharField(allow_blank=True)


class BackfillStatusSerializer(serializers.Serializer[Any]):
    """The phase of a pipeline and the progress of its backfill. `phase` is null for a pipeline without a backfill."""

    pipeline_id = serializers.CharField()
    phase = serializers.ChoiceField([phase.value for phase in Phase], allow_null=True)
    paused = serializers.BooleanField()
    run = serializers.UUIDField(allow_null=True, help_text="The newest run of the backfill.")
    error = BackfillErrorSerializer(
        allow_null=True, help_text="Why the backfill has stopped. Null while it goes on, and once all is loaded."
    )
    chunks = ChunkCountsSerializer()
    throughput = ThroughputSerializer(help_text="Of the newest chunks. Null before the first one.")
    eta_seconds = serializers.IntegerField(allow_null=True, help_text="Null while no chunk is loaded, or when paused.")
    started_at = serializers.DateTimeField(allow_null=True)
    rate_budget = serializers.CharField(allow_null=True)
    rate_budget_consumed_pct = serializers.IntegerField(
        allow_null=True, help_text="The share of the requests of the last period that were used."
    )


class BackfillReason(serializers.Serializer[Any]):
    reason = serializers.CharField(max_length=2000, required=False, default="", allow_blank=True)


class RetryRequest(BackfillReason):
    outdated = serializers.BooleanField(
        default=False,
        help_text="Load the chunks again that were loaded with another version of the pipeline, not the failed ones.",
    )


class RewindRequest(serializers.Serializer[Any]):
    reason = serializers.CharField(max_length=2000)

    def get_fields(self) -> dict[str, Any]:
        """Add `from` and `to`; a word of the language cannot be declared as a field."""
        bounds = {
            "from": "The lowest cursor value of the range; without it, the range begins with the history.",
            "to": "The value at which the range ends; it is not part of it. Without it, the range ends at the "
            "watermark of the target, where the next load begins; without a watermark it has all higher values.",
        }
        ends = {
            name: serializers.CharField(max_length=200, required=False, allow_null=True, default=None, help_text=text)
            for name, text in bounds.items()
        }
        return {**ends, **super().get_fields()}


class ChunkFilter(CamelSerializer[Any]):
    status = serializers.ChoiceField(ChunkStatus.choices, required=False)


class ChunkSerializer(CamelSerializer[Chunk]):
    """A chunk of a backfill. Bounds are texts of the cursor's type, half-open."""

    chunk = serializers.IntegerField(source="ordinal")
    partition = serializers.DictField(child=serializers.CharField(allow_null=True))
    lower = serializers.CharField(allow_null=True)
    upper = serializers.CharField(allow_null=True)
    predicate = serializers.CharField()
    status = serializers.ChoiceField(ChunkStatus.choices)
    attempts = serializers.IntegerField()
    run = serializers.UUIDField(source="run_id", allow_null=True)
    started_at = serializers.DateTimeField(allow_null=True)
    completed_at = serializers.DateTimeField(allow_null=True)
    cursor_committed = serializers.CharField(allow_null=True)
    winning_attempt = serializers.CharField()
    rows_read = serializers.IntegerField(allow_null=True)
    rows = serializers.IntegerField(allow_null=True, help_text="Loaded rows.")
    rows_rejected = serializers.IntegerField(allow_null=True)
    rows_now = serializers.IntegerField(
        allow_null=True, help_text="Its rows in the source when the backfill ended, if they had changed."
    )
    error = serializers.CharField()
