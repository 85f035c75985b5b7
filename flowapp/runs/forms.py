"""What the list of runs can be narrowed by."""

from __future__ import annotations

from typing import Any

from django import forms

from flowapp.accounts.forms import StyledForm
from flowapp.accounts.models import Workspace
from flowapp.pipelines.models import Pipeline
from flowapp.runs.models import State, Trigger


class MomentInput(forms.DateTimeInput):
    input_type = "datetime-local"

    def __init__(self) -> None:
        super().__init__(format="%Y-%m-%dT%H:%M")


class RunFilter(StyledForm):
    """All fields may be left out. `wanted` holds what `list_runs` takes; what makes no sense narrows nothing."""

    pipeline = forms.CharField(required=False, max_length=63, widget=forms.TextInput(attrs={"list": "pipeline-names"}))
    state = forms.ChoiceField(required=False)
    trigger = forms.ChoiceField(required=False)
    since = forms.DateTimeField(required=False, label="From (UTC)", widget=MomentInput)
    until = forms.DateTimeField(required=False, label="To (UTC)", widget=MomentInput)

    def __init__(self, workspace: Workspace, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.workspace = workspace
        self.fields["state"].choices = [("", "any"), *_named(State)]
        self.fields["trigger"].choices = [("", "any"), *_named(Trigger)]

    def clean_pipeline(self) -> Pipeline | None:
        ident = self.cleaned_data["pipeline"]
        if not ident:
            return None
        found = Pipeline.objects.filter(workspace=self.workspace, ident=ident).first()
        if found is None:
            raise forms.ValidationError("There is no pipeline of that id here.")
        return found

    def wanted(self) -> dict[str, Any]:
        self.full_clean()
        return {name: value for name, value in self.cleaned_data.items() if value not in (None, "")}


def _named(choices: Any) -> list[tuple[str, str]]:
    return [(choice.value, choice.value.replace("_", " ")) for choice in choices]
