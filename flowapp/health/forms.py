"""The filter form of alerts."""

from __future__ import annotations

from typing import Any

from django import forms

from flowapp.accounts.models import Workspace
from flowapp.alerts.kinds import KINDS
from flowapp.alerts.models import AlertState, Severity
from flowapp.pipelines.filters import PipelineFilter


class AlertFilter(PipelineFilter):
    state = forms.ChoiceField(required=False, choices=[("", "any"), *((s.value, s.value) for s in AlertState)])
    severity = forms.ChoiceField(required=False, choices=[("", "any"), *((s.value, s.value) for s in Severity)])
    kind = forms.ChoiceField(required=False, choices=[("", "any"), *((kind.kind, kind.title) for kind in KINDS)])

    def __init__(self, workspace: Workspace, *args: Any, **kwargs: Any) -> None:
        super().__init__(workspace, *args, **kwargs)
        self.order_fields(["pipeline", "kind", "severity", "state"])
