"""Forms of the channel pages, built from the fields of a kind. Forms never repeat a secret that was typed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from django import forms
from django.views.decorators.debug import sensitive_variables

from flowapp.accounts.forms import StyledForm
from flowapp.alerts.kinds import KINDS
from flowapp.alerts.models import Severity
from flowapp.channels.kinds.base import ChannelField, ChannelKind
from flowapp.connections.forms import UnrepeatedInput, UnrepeatedLines
from flowapp.connections.webhook_fields import parse_headers

_OFF = {"autocomplete": "off", "spellcheck": "false"}
LONGEST_LINES = 4000
"""The maximum length of a field with several lines, in characters."""


class FilterForm(StyledForm):
    """The filter of alerts that a channel sends."""

    severity = forms.ChoiceField(
        label="Severity",
        choices=[(Severity.WARNING, "warnings and errors"), (Severity.ERROR, "errors only")],
    )
    kinds = forms.MultipleChoiceField(
        label="Only these kinds (none selected: all)",
        required=False,
        choices=[(kind.kind, kind.title) for kind in KINDS if kind.is_sent],
        widget=forms.CheckboxSelectMultiple(attrs={"class": "form-check-input me-2"}),
    )

    def filters(self) -> dict[str, Any]:
        return {"severity": self.cleaned_data["severity"], "kinds": self.cleaned_data["kinds"]}


class Lines(forms.CharField):
    """A list of texts, one per line."""

    def clean(self, value: Any) -> tuple[str, ...]:
        return tuple(super().clean(value).split())

    def prepare_value(self, value: Any) -> Any:
        return value if isinstance(value, str) or value is None else "\n".join(value)


class Headers(forms.CharField):
    """HTTP headers, one per line."""

    def clean(self, value: Any) -> dict[str, str]:
        headers = parse_headers(super().clean(value))
        if headers is None:
            raise forms.ValidationError("Write each line as a name, a colon and a value.")
        return headers


class Port(forms.IntegerField):
    """A port; an empty field becomes 0."""

    def clean(self, value: Any) -> int:
        return super().clean(value) or 0


def _form_field(field: ChannelField) -> forms.Field:
    shared: dict[str, Any] = {"label": field.title, "help_text": field.help, "required": field.required}
    if field.is_secret:
        return forms.CharField(
            strip=False, widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}), **shared
        )
    if field.type == "choice":
        return forms.ChoiceField(choices=field.choices, **{**shared, "required": True})
    if field.type == "port":
        return Port(min_value=1, max_value=65535, **shared)
    if field.type == "text":
        text = UnrepeatedInput if field.is_private else forms.TextInput
        return forms.CharField(max_length=field.max_length, widget=text(attrs=_OFF), **shared)
    lines = (UnrepeatedLines if field.is_private else forms.Textarea)(attrs={"rows": 2, **_OFF})
    if field.type == "lines":
        return Lines(max_length=LONGEST_LINES, widget=lines, **shared)
    return Headers(max_length=field.max_length, widget=lines, **shared)


class _FieldsForm(StyledForm):
    """A form of the given fields of a kind."""

    def __init__(self, fields: Iterable[ChannelField], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._fields = tuple(fields)
        self.fields.update({field.name: _form_field(field) for field in self._fields})
        self.style()

    @sensitive_variables()
    def given(self) -> dict[str, Any]:
        """Return the values of the kind's fields. Call it only on a valid form."""
        return {field.name: self.cleaned_data[field.name] for field in self._fields}


class AddForm(_FieldsForm, FilterForm):
    """A form that adds a channel of a kind."""

    name = forms.CharField(
        label="Name",
        max_length=63,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text="Such as on-call: lower-case letters, digits, - and _.",
    )

    def __init__(self, kind: ChannelKind, *args: Any, **kwargs: Any) -> None:
        super().__init__(kind.fields, *args, **kwargs)
        self.order_fields(["name", *(field.name for field in kind.fields), "severity", "kinds"])


class ChangeForm(_FieldsForm):
    """A form that edits an existing channel: the changeable fields of its kind. An empty secret field keeps the stored
    secret."""

    def __init__(self, kind: ChannelKind, *args: Any, **kwargs: Any) -> None:
        self._secret = kind.secret
        super().__init__((*kind.changes, *_optional(kind.secret)), *args, **kwargs)

    @classmethod
    def of(cls, kind: ChannelKind, settings: Mapping[str, Any]) -> ChangeForm:
        return cls(kind, initial=settings)

    @sensitive_variables()
    def changes(self) -> dict[str, Any]:
        """Return the values to store."""
        given = self.given()
        if self._secret and not given[self._secret.name]:
            del given[self._secret.name]
        return given


def _optional(secret: ChannelField | None) -> tuple[ChannelField, ...]:
    if secret is None:
        return ()
    word = secret.title.lower()
    hint = f"If empty, the stored {word} stays. Enter it again if you change where it is sent."
    return (replace(secret, required=False, help=hint),)


class SecretForm(StyledForm):
    secret = forms.CharField(
        required=False, strip=False, widget=forms.PasswordInput(attrs={"autocomplete": "new-password"})
    )

    def __init__(self, secret: ChannelField, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["secret"].label = f"New {secret.title.lower()}"
