"""The form of the page "Where did my row go?"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms

from flowapp.accounts.forms import StyledForm

LINES = 3


class TraceForm(StyledForm):
    """A few columns with their values. At first, the columns are those of the target's key."""

    def __init__(self, data: Any, targets: Sequence[str], columns: Sequence[str], key: Sequence[str]) -> None:
        super().__init__(data)
        lines = max(LINES, len(key))
        choices = [("", "all targets"), *((target, target) for target in targets)]
        if len(targets) > 1:
            self.fields["target"] = forms.ChoiceField(required=False, choices=choices)
        for i in range(lines):
            self.fields[f"column_{i}"] = forms.CharField(
                label="Column",
                required=False,
                max_length=63,
                initial=key[i] if i < len(key) else "",
                widget=forms.TextInput(attrs={"list": "columns", "autocomplete": "off"}),
            )
            self.fields[f"value_{i}"] = forms.CharField(
                label="Value",
                required=False,
                max_length=1000,
                strip=False,
                widget=forms.TextInput(attrs={"autocomplete": "off"}),
            )
        for field in self.fields.values():
            is_choice = isinstance(field.widget, forms.Select)
            field.widget.attrs.setdefault("class", "form-select" if is_choice else "form-control")
        self.lines = [(self[f"column_{i}"], self[f"value_{i}"]) for i in range(lines)]

    def key(self) -> dict[str, str]:
        """Return the columns that have a value."""
        pairs = ((self.cleaned_data[c.name].strip(), self.cleaned_data[v.name]) for c, v in self.lines)
        return {column: value for column, value in pairs if column and value}
