"""Forms of the pages of channels. Nothing secret that was typed is ever sent back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django import forms
from django.views.decorators.debug import sensitive_variables

from flowapp.accounts.forms import StyledForm
from flowapp.alerts.kinds import KINDS
from flowapp.alerts.models import Severity
from flowapp.channels.kinds.email import PORTS, Mailbox
from flowapp.channels.kinds.webhook import SHORTEST_SECRET, WebhookAddress
from flowapp.connections.forms import UnrepeatedInput, UnrepeatedLines
from flowapp.connections.webhooks import parse_headers

_OFF = {"autocomplete": "off", "spellcheck": "false"}


def _secret(label: str, help_text: str, *, required: bool) -> forms.CharField:
    widget = forms.PasswordInput(attrs={"autocomplete": "new-password"})
    return forms.CharField(label=label, required=required, strip=False, widget=widget, help_text=help_text)


class FilterForm(StyledForm):
    """Which alerts a channel tells."""

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


class _ChannelForm(FilterForm):
    """`given` holds the address after it was found readable."""

    name = forms.CharField(
        label="Name",
        max_length=63,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text="Such as on-call: lower-case letters, digits, - and _.",
    )
    given: Any


class WebhookForm(_ChannelForm):
    url = forms.CharField(
        label="URL",
        max_length=2000,
        widget=UnrepeatedInput(attrs=_OFF),
        help_text="A public https address without user and query.",
    )
    secret = _secret(
        "Signing secret",
        f"At least {SHORTEST_SECRET} characters. Requests are signed with it (HMAC-SHA256).",
        required=True,
    )
    headers = forms.CharField(
        label="Headers",
        required=False,
        max_length=20_000,
        widget=UnrepeatedLines(attrs={"rows": 2, **_OFF}),
        help_text="One per line, such as Authorization: Bearer …",
    )
    field_order = ("name", "url", "secret", "headers", "severity", "kinds")

    @sensitive_variables()
    def clean(self) -> dict[str, Any]:
        values = self.cleaned_data
        headers = parse_headers(values.get("headers", ""))
        if headers is None:
            self.add_error("headers", "Write each line as a name, a colon and a value.")
        self.given = WebhookAddress(values.get("url", ""), values.get("secret", ""), headers or {})
        return values


class MailboxForm(StyledForm):
    """`given` holds the address after it was found readable."""

    given: Mailbox
    to = forms.CharField(
        label="To", max_length=4000, widget=forms.Textarea(attrs={"rows": 2, **_OFF}), help_text="One address per line."
    )
    sender = forms.CharField(label="From", max_length=254, widget=forms.TextInput(attrs=_OFF))
    host = forms.CharField(
        label="Mail server", max_length=253, widget=forms.TextInput(attrs=_OFF), help_text="Such as smtp.example.com."
    )
    security = forms.ChoiceField(
        label="Encryption",
        choices=[
            ("starttls", "STARTTLS"),
            ("tls", "TLS from the start"),
            ("none", "none; a password cannot be used"),
        ],
    )
    port = forms.IntegerField(
        label="Port",
        required=False,
        min_value=1,
        max_value=65535,
        help_text=f"Default: {PORTS['starttls']} for STARTTLS, {PORTS['tls']} for TLS, {PORTS['none']} for none.",
    )
    user = forms.CharField(label="User", required=False, max_length=254, widget=forms.TextInput(attrs=_OFF))
    password = _secret("Password", "Stored encrypted. Leave it empty if the server needs no password.", required=False)

    @sensitive_variables()
    def clean(self) -> dict[str, Any]:
        values = self.cleaned_data
        self.given = Mailbox(
            host=values.get("host", ""),
            sender=values.get("sender", ""),
            to=tuple(values.get("to", "").split()),
            security=values.get("security", "starttls"),
            port=values.get("port") or 0,
            user=values.get("user", ""),
            password=values.get("password", ""),
        )
        return values


class EmailForm(_ChannelForm, MailboxForm):
    field_order = ("name", "to", "sender", "host", "security", "port", "user", "password", "severity", "kinds")


class ChangeMailboxForm(MailboxForm):
    """Of a channel that is there."""

    password = _secret(
        "Password",
        "If empty, the stored password stays. Enter it again if you change server, port or encryption.",
        required=False,
    )

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> ChangeMailboxForm:
        return cls(initial={**settings, "to": "\n".join(settings["to"])})

    @sensitive_variables()
    def changes(self) -> dict[str, Any]:
        """What is to be stored."""
        given = asdict(self.given)
        return {name: value for name, value in given.items() if name != "password" or value}


class SecretForm(StyledForm):
    secret = _secret("New secret", "", required=False)
