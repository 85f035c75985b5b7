"""Forms that are not generated from the JSON Schema of the document."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.text import slugify


class NewPipeline(forms.Form):
    name = forms.CharField(
        label="Name",
        max_length=200,
        required=False,
        help_text="The display name, such as Daily orders. It can change.",
        widget=forms.TextInput(attrs={"class": "form-control", "autocomplete": "off"}),
    )
    slug = forms.CharField(
        label="ID",
        max_length=63,
        required=False,
        help_text="Lower-case letters, digits, - and _. It cannot change. If empty, Flow makes it from the name.",
        widget=forms.TextInput(
            attrs={"class": "form-control", "autocomplete": "off", "spellcheck": "false", "placeholder": "daily-orders"}
        ),
    )

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        if "slug" in given and not given["slug"]:
            given["slug"] = slug_of(given.get("name", ""))
            if not given["slug"]:
                self.add_error("slug", "Enter a name or an id.")
        return given


def slug_of(name: str) -> str:
    """Return an id for a name: `Daily Orders` → `daily-orders`; "" if the name has no usable character."""
    return slugify(name).lstrip("0123456789-_")[:63].rstrip("-_")
