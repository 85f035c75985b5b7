"""What the list of runs can be narrowed by."""

from __future__ import annotations

from typing import Any

from django import forms

from flowapp.accounts.models import Workspace
from flowapp.pipelines.filters import PipelineFilter
from flowapp.runs.models import State, Trigger


class MomentInput(forms.DateTimeInput):
    input_type = "datetime-local"

    def __init__(self) -> None:
        super().__init__(format="%Y-%m-%dT%H:%M")


class RunFilter(PipelineFilter):
    state = forms.ChoiceField(required=False)
    trigger = forms.ChoiceField(required=False)
    since = forms.DateTimeField(required=False, label="From (UTC)", widget=MomentInput)
    until = forms.DateTimeField(required=False, label="To (UTC)", widget=MomentInput)

    def __init__(self, workspace: Workspace, *args: Any, **kwargs: Any) -> None:
        super().__init__(workspace, *args, **kwargs)
        self.fields["state"].choices = [("", "any"), *_named(State)]
        self.fields["trigger"].choices = [("", "any"), *_named(Trigger)]


def _named(choices: Any) -> list[tuple[str, str]]:
    return [(choice.value, choice.value.replace("_", " ")) for choice in choices]
