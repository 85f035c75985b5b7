"""Forms of the Connections pages. Forms never repeat a secret that was typed."""

from __future__ import annotations

from typing import Any

from django import forms
from django.views.decorators.debug import sensitive_variables

from flowapp.accounts.forms import StyledForm
from flowapp.connections.fields import DEFAULT_PORT, FORM, SSL_MODES, ConnectionFields, parse_connection_url
from flowapp.connections.store_fields import StoreFields
from flowapp.connections.webhook_fields import WebhookFields, parse_headers
from ir.errors import FlowError
from ir.manifests.stores import STORE_KINDS
from ir.manifests.stores.base import StoreField


class UrlInput(forms.TextInput):
    """A URL input that shows its submitted value again only if the value is readable and holds no password."""

    @sensitive_variables()
    def format_value(self, value: Any) -> str | None:
        try:
            fields = parse_connection_url(value or "")
        except FlowError:
            return None
        return None if fields.password else str(value)


class UnrepeatedInput(forms.TextInput):
    """An input that never shows its submitted value again, because all of it may be secret."""

    def format_value(self, value: Any) -> None:
        return None


class UnrepeatedLines(forms.Textarea):
    """A multi-line UnrepeatedInput."""

    def format_value(self, value: Any) -> None:
        return None


def _text(label: str, **more: Any) -> forms.CharField:
    return forms.CharField(label=label, required=False, widget=forms.TextInput(attrs={"autocomplete": "off"}), **more)


def _password(label: str, help_text: str = "") -> forms.CharField:
    widget = forms.PasswordInput(attrs={"autocomplete": "new-password"})
    return forms.CharField(label=label, required=False, strip=False, widget=widget, help_text=help_text)


class ConnectionForm(StyledForm):
    """A database connection by URL or by fields. A valid form has ConnectionFields in `given`."""

    name = forms.CharField(
        label="Name",
        max_length=63,
        help_text="Its name in pipelines, such as warehouse: lower-case letters, digits, - and _.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    url = forms.CharField(
        label="URL",
        required=False,
        max_length=2000,
        help_text=f"{FORM}, without the password. Enter that below.",
        widget=UrlInput(attrs={"autocomplete": "off", "spellcheck": "false", "placeholder": "postgresql://…"}),
    )
    host = _text("Host", max_length=253)
    port = forms.IntegerField(label="Port", required=False, min_value=1, max_value=65535, initial=DEFAULT_PORT)
    database = _text("Database", max_length=63)
    user = _text("User", max_length=63)
    sslmode = forms.ChoiceField(
        label="TLS (sslmode)", required=False, choices=[(mode, mode) for mode in SSL_MODES], initial="prefer"
    )
    password = _password("Password", "Stored encrypted and never shown again.")

    given: ConnectionFields
    had_password_in_url = False

    @sensitive_variables()
    def clean(self) -> dict[str, Any]:
        values = self.cleaned_data
        if values.get("url"):
            self._take_url(values)
        elif not self.errors:
            self._take_fields(values)
        return values

    @sensitive_variables()
    def _take_url(self, values: dict[str, Any]) -> None:
        """Use the URL and ignore the other fields, which may still hold the initial values of the page."""
        try:
            fields = parse_connection_url(values["url"])
        except FlowError as error:
            self.add_error("url", f"{error.message} {error.hint}")
            return
        self.had_password_in_url = bool(fields.password)
        password = values.get("password") or fields.password
        self.given = ConnectionFields(
            fields.kind, fields.host, fields.port, fields.database, fields.user, password, fields.sslmode
        )

    @sensitive_variables()
    def _take_fields(self, values: dict[str, Any]) -> None:
        """Assemble a URL from the fields and parse it, so that both ways of input accept the same values."""
        missing = [name for name in ("host", "database", "user") if not values.get(name)]
        for name in missing:
            self.add_error(name, "Enter a value, or paste a URL.")
        if not missing:
            self.given = ConnectionFields(
                "postgres",
                values["host"],
                values.get("port") or DEFAULT_PORT,
                values["database"],
                values["user"],
                values.get("password", ""),
                values.get("sslmode") or "prefer",
            )


class WebhookForm(StyledForm):
    """A webhook connection. A valid form has WebhookFields in `given`."""

    name = forms.CharField(
        label="Name",
        max_length=63,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text="Its name in hooks, such as pager: lower-case letters, digits, - and _.",
    )
    url = forms.CharField(
        label="URL",
        max_length=2000,
        widget=UnrepeatedInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        help_text="A public https address without user and query. Hooks can add a path.",
    )
    headers = forms.CharField(
        label="Headers",
        required=False,
        max_length=20_000,
        help_text="One per line, such as Authorization: Bearer …",
        widget=UnrepeatedLines(attrs={"rows": 3, "autocomplete": "off", "spellcheck": "false"}),
    )
    password = _password("Signing secret", "Requests are signed with it (HMAC-SHA256). Stored encrypted.")

    given: WebhookFields

    @sensitive_variables()
    def clean(self) -> dict[str, Any]:
        values = self.cleaned_data
        headers = parse_headers(values.get("headers", ""))
        if headers is None:
            self.add_error("headers", "Write each line as a name, a colon and a value.")
        self.given = WebhookFields(values.get("url", ""), headers or {}, values.get("password", ""))
        return values


class StoreForm(StyledForm):
    """A connection to a store of files, made from the fields of its kind. A valid form has StoreFields in `given`."""

    name = forms.CharField(
        label="Name",
        max_length=63,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text="Its name in pipelines, such as landing: lower-case letters, digits, - and _.",
    )

    given: StoreFields

    def __init__(self, kind: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._kind = kind
        self.fields.update({field.name: _store_field(field) for field in STORE_KINDS[kind].fields()})
        self.style()

    @sensitive_variables()
    def clean(self) -> dict[str, Any]:
        values = self.cleaned_data
        settings: dict[str, Any] = {}
        secrets: dict[str, str] = {}
        for field in STORE_KINDS[self._kind].fields():
            value = values.get(field.name)
            if field.is_secret:
                secrets[field.name] = value or ""
            elif value not in (None, ""):
                settings[field.name] = value
        self.given = StoreFields(self._kind, settings, secrets)
        return values


def _store_field(field: StoreField) -> forms.Field:
    shared: dict[str, Any] = {"label": field.title, "help_text": field.help, "required": field.is_required}
    if field.is_secret and field.type == "lines":
        lines = UnrepeatedLines(attrs={"rows": 4, "autocomplete": "off", "spellcheck": "false"})
        return forms.CharField(strip=False, widget=lines, **shared)
    if field.is_secret:
        hint = f"{field.help} Stored encrypted and never shown again."
        made = _password(field.title, hint)
        made.required = field.is_required
        return made
    if field.type == "flag":
        return forms.BooleanField(
            **{**shared, "required": False},
            initial=field.default,
            widget=forms.CheckboxInput(attrs={"class": "form-check-input"}),
        )
    if field.type == "number":
        return forms.IntegerField(min_value=1, max_value=65535, initial=field.default, **shared)
    if field.type == "choice":
        return forms.ChoiceField(choices=[(name, name) for name in field.choices], initial=field.default, **shared)
    placeholder = {"placeholder": field.examples[0]} if field.examples else {}
    text = forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", **placeholder})
    return forms.CharField(max_length=2000, widget=text, initial=field.default, **shared)


class AllowanceForm(StyledForm):
    """Query permissions over a connection."""

    functions = forms.CharField(
        label="Additional functions",
        required=False,
        max_length=20_000,
        help_text="One a line with its schema, such as public.similarity. Functions that run SQL given as text, such "
        "as crosstab or dblink, can do all that the role can.",
        widget=forms.Textarea(attrs={"rows": 3, "autocomplete": "off", "spellcheck": "false"}),
    )
    server_rights = forms.BooleanField(
        label="Allow queries as a privileged role",
        required=False,
        help_text="A superuser, or a role that can run programs or access files on the database server.",
        widget=forms.CheckboxInput(attrs={"class": "form-check-input"}),
    )

    @property
    def given(self) -> list[str]:
        return [line.strip() for line in self.cleaned_data["functions"].splitlines() if line.strip()]


class PasswordForm(StyledForm):
    password = _password("New password", "Leave it empty if the server needs no password.")

    def take_lines(self) -> None:
        """Accept a secret of several lines, such as a private key."""
        self.fields["password"].widget = UnrepeatedLines(
            attrs={"rows": 4, "autocomplete": "off", "spellcheck": "false", "class": "form-control"}
        )
