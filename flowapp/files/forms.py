"""Forms of the Files page."""

from __future__ import annotations

from typing import Any

from django import forms

from flowapp.accounts.forms import StyledForm
from flowapp.accounts.models import Workspace
from flowapp.files.models import UnitState
from flowapp.pipelines.models import Pipeline
from flowapp.web.templatetags.flow import STATES


class UploadForm(StyledForm):
    """What is accepted, `keep_upload` decides."""

    file = forms.FileField(label="File", allow_empty_file=True, required=False)
    folder = forms.CharField(
        label="Folder",
        max_length=500,
        help_text="Where your pipeline's source reads, below the workspace's folder. It is made if it is not there.",
        widget=forms.TextInput(attrs={"list": "folders", "autocomplete": "off"}),
    )


class UnitFilter(StyledForm):
    """What makes no sense narrows nothing."""

    pipeline = forms.CharField(required=False, max_length=63, widget=forms.TextInput(attrs={"list": "pipeline-names"}))
    state = forms.ChoiceField(
        required=False, choices=[("", "any"), *((state, STATES[state][2]) for state in UnitState.values)]
    )

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
