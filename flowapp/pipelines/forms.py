"""Forms that are not made from the document's schema."""

from __future__ import annotations

from django import forms


class NewPipeline(forms.Form):
    ident = forms.CharField(
        label="Id",
        max_length=63,
        help_text="Small letters, digits, - and _, such as daily-orders. It stays; the name can change.",
        widget=forms.TextInput(attrs={"class": "form-control", "autocomplete": "off", "spellcheck": "false"}),
    )
    name = forms.CharField(
        label="Name",
        max_length=200,
        required=False,
        widget=forms.TextInput(attrs={"class": "form-control", "autocomplete": "off"}),
    )
