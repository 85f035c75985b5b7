"""Narrowing a list by pipeline and more; what makes no sense narrows nothing."""

from __future__ import annotations

from typing import Any

from django import forms

from flowapp.accounts.forms import StyledForm
from flowapp.accounts.models import Workspace
from flowapp.pipelines.models import Pipeline


class PipelineFilter(StyledForm):
    """All fields may be left out. `wanted` holds what the list's selector takes."""

    pipeline = forms.CharField(required=False, max_length=63, widget=forms.TextInput(attrs={"list": "pipeline-names"}))

    def __init__(self, workspace: Workspace, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.workspace = workspace

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
