"""Forms of the Files page."""

from __future__ import annotations

from django import forms

from flowapp.accounts.forms import StyledForm
from flowapp.pipelines.filters import PipelineFilter
from flowapp.runs.load_units.models import UnitState
from flowapp.web.templatetags.flow import STATES


class UploadForm(StyledForm):
    """The upload form. `keep_upload` validates the file."""

    file = forms.FileField(label="File", allow_empty_file=True, required=False)
    folder = forms.CharField(
        label="Folder",
        max_length=500,
        help_text="The folder that your source reads, such as orders. Flow creates it if needed.",
        widget=forms.TextInput(attrs={"list": "folders", "autocomplete": "off", "placeholder": "orders"}),
    )


class UnitFilter(PipelineFilter):
    state = forms.ChoiceField(
        required=False, choices=[("", "any"), *((state, STATES[state][2]) for state in UnitState.values)]
    )
