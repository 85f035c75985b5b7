"""Samples and their suggestions in API responses and command output."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from executors.api import Proposal
from flowapp.api.serializers import CamelSerializer, DocumentPartField, OptionalTextField, RowField
from flowapp.suggestions.selectors import LOAD, SOURCE, Sample, SampleTrial


class SampleSerializer(CamelSerializer[Sample]):
    """Rows that were stored together."""

    kind = serializers.ChoiceField([SOURCE, LOAD])
    run = serializers.UUIDField(source="run.pk", allow_null=True)
    rows = serializers.SerializerMethodField()
    files = serializers.ListField(child=serializers.CharField())
    taken_at = serializers.DateTimeField()

    def get_rows(self, sample: Sample) -> int:
        return len(sample.rows)


class ProposalSerializer(CamelSerializer[Proposal]):
    """A row rule, or with `check` a dataset check of that kind, that a sample suggests."""

    check = OptionalTextField()
    spec = DocumentPartField(help_text="As in the document.")
    evidence = serializers.CharField()
    hits = serializers.IntegerField(help_text="Rows of the sample that it would reject or warn of.")
    misfits = serializers.ListField(child=serializers.CharField(), help_text="Some of their values.")


class SuggestionsSerializer(CamelSerializer[Any]):
    samples = SampleSerializer(many=True)
    results = ProposalSerializer(many=True)


class ExampleSerializer(CamelSerializer[Any]):
    file = serializers.CharField(allow_null=True)
    record = serializers.IntegerField(allow_null=True)
    row = RowField()


class TrialSerializer(CamelSerializer[SampleTrial]):
    """The result of a rule on one sample."""

    sample = SampleSerializer()
    hits = serializers.IntegerField(source="trial.hits")
    untried = OptionalTextField(source="trial.untried", help_text="Why it could not be tried.")
    examples = ExampleSerializer(many=True)


class TrialsSerializer(CamelSerializer[Any]):
    results = TrialSerializer(many=True)


class PositionSerializer(CamelSerializer[Any]):
    position = serializers.IntegerField(help_text="The number of the draft's current step.")


class SampleRequest(CamelSerializer[Any]):
    node = serializers.CharField(
        default="", allow_blank=True, help_text="A validate node of your draft, whose source is sampled."
    )


class AcceptRequest(CamelSerializer[Any]):
    """`spec` is a row rule, or with `check` a dataset check of that kind."""

    spec = DocumentPartField()
    check = serializers.CharField(default="", allow_blank=True)


class BacktestRequest(CamelSerializer[Any]):
    rule = DocumentPartField()
