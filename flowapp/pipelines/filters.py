"""Filter lists by pipeline and other fields. An invalid filter shows no rows and an error."""

from __future__ import annotations

from typing import Any, TypeVar

from django import forms
from django.db.models import Model, QuerySet

from flowapp.accounts.forms import StyledForm
from flowapp.accounts.models import Workspace
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.selectors import find_pipeline
from ir.errors import FlowError

T = TypeVar("T", bound=Model)


class PipelineFilter(StyledForm):
    """A filter form whose fields are all optional. `wanted` holds the arguments of the list's selector."""

    pipeline = forms.CharField(required=False, max_length=200, widget=forms.TextInput(attrs={"list": "pipeline-names"}))

    def __init__(self, workspace: Workspace, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.workspace = workspace

    def clean_pipeline(self) -> Pipeline | None:
        text = self.cleaned_data["pipeline"]
        try:
            return find_pipeline(self.workspace, text) if text else None
        except FlowError as error:
            raise forms.ValidationError(error.message) from error

    def filters(self) -> dict[str, Any]:
        self.full_clean()
        return {name: value for name, value in self.cleaned_data.items() if value not in (None, "")}

    def apply(self, rows: QuerySet[T]) -> QuerySet[T]:
        """Filter the rows. An invalid filter returns none, because users would mistake all rows for the matching
        ones."""
        return rows if self.is_valid() else rows.none()
