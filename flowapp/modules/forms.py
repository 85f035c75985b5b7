"""The form of the page Custom transforms."""

from __future__ import annotations

from django import forms

from flowapp.accounts.forms import StyledForm
from ir.ops import ACCESSES

WORDS = {"clock": "the time", "random": "random bytes"}


class ModuleForm(StyledForm):
    """An upload of a module."""

    name = forms.CharField(
        label="Name",
        max_length=63,
        help_text="Its name in pipelines, such as iban-check: lower-case letters, digits, - and _.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    file = forms.FileField(
        label="Module", help_text="A WebAssembly module or component (.wasm).", widget=forms.FileInput()
    )
    granted = forms.MultipleChoiceField(
        label="Grant access to",
        required=False,
        choices=[(kind, WORDS[kind]) for kind in ACCESSES],
        widget=forms.CheckboxSelectMultiple,
        help_text="Pipelines must declare it too. Without it, both are constants, so that results can be repeated.",
    )
