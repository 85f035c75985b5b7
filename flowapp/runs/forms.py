"""The filter form of runs."""

from __future__ import annotations

from django import forms
from django.db.models import TextChoices

from flowapp.pipelines.filters import PipelineFilter
from flowapp.runs.models import State, Trigger


class MomentInput(forms.DateTimeInput):
    input_type = "datetime-local"

    def __init__(self) -> None:
        super().__init__(format="%Y-%m-%dT%H:%M")


def _named(choices: type[TextChoices]) -> list[tuple[str, str]]:
    return [("", "any"), *((choice.value, choice.value.replace("_", " ")) for choice in choices)]


class RunFilter(PipelineFilter):
    state = forms.ChoiceField(required=False, choices=_named(State))
    trigger = forms.ChoiceField(required=False, label="Started by", choices=[("", "any"), *Trigger.choices])
    since = forms.DateTimeField(required=False, label="From (UTC)", widget=MomentInput)
    until = forms.DateTimeField(required=False, label="To (UTC)", widget=MomentInput)
