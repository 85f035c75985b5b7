"""The connection pages. No page shows a secret."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from django.contrib import messages
from django.forms import Form
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from flowapp.accounts.access import page
from flowapp.accounts.roles import is_at_least
from flowapp.connections.allowing import allow
from flowapp.connections.embedded import NAME, connect_warehouse, offers_warehouse
from flowapp.connections.fields import InvalidConnection
from flowapp.connections.forms import AllowanceForm, ConnectionForm, PasswordForm, StoreForm, WebhookForm
from flowapp.connections.host_keys import confirm_host_key
from flowapp.connections.models import Connection
from flowapp.connections.secrets import SecretUnreadable
from flowapp.connections.selectors import get_connection, list_connections
from flowapp.connections.services import KINDS, add_connection, probe_connection, remove_connection, replace_password
from flowapp.connections.store_fields import InvalidFields
from flowapp.connections.stores import replaceable, stored_secrets
from flowapp.connections.usage import pipelines_using
from flowapp.web.field_labels import FieldLabel, with_labels
from flowapp.web.htmx import HtmxRequest, render_page
from ir.manifests.stores import STORE_KINDS
from ir.manifests.stores.base import StoreField

FIELD_OF = {
    "connection.name_invalid": "name",
    "connection.name_taken": "name",
    "connection.url_invalid": "url",
    "connection.host_invalid": "host",
    "connection.headers_invalid": "headers",
}
"""The form field that shows an error code. Other errors are shown above the form."""


@require_GET
@page()
def list_page(request: HtmxRequest) -> HttpResponse:
    found = list_connections(request.workspace)
    offers = not found and offers_warehouse(request.workspace)
    context = {
        "connections": [(connection, KINDS[connection.kind].title) for connection in found],
        "offers_embedded": offers,
    }
    return render_page(request, "connections/list.html", context)


@never_cache
@sensitive_post_parameters("password", "url")
@require_http_methods(["GET", "POST"])
@page(role="admin")
def add(request: HtmxRequest) -> HttpResponse:
    form = ConnectionForm(request.POST or None)
    if added := _add(request, form):
        if form.had_password_in_url:
            messages.warning(
                request,
                "The URL contained a password. It is stored encrypted, but URLs are often copied and logged. "
                "Enter passwords in their own field.",
            )
        return added
    offers = offers_warehouse(request.workspace)
    return _show_form(request, "connections/add.html", form, offers_embedded=offers)


@never_cache
@sensitive_post_parameters("password", "url", "headers")
@require_http_methods(["GET", "POST"])
@page(role="admin")
def add_webhook(request: HtmxRequest) -> HttpResponse:
    form = WebhookForm(request.POST or None)
    return _add(request, form) or _show_form(request, "connections/add_webhook.html", form)


@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
@page(role="admin")
def add_store(request: HtmxRequest, store_kind: str) -> HttpResponse:
    if store_kind not in STORE_KINDS:
        raise Http404
    form = StoreForm(store_kind, request.POST or None)
    spec = STORE_KINDS[store_kind]
    more = {"kind": store_kind, "kind_title": spec.title, "holds": spec.holds, "caution": spec.caution}
    return _add(request, form) or _show_form(request, "connections/add_store.html", form, **more)


def _add(request: HtmxRequest, form: ConnectionForm | WebhookForm | StoreForm) -> HttpResponse | None:
    """Store the submitted connection and redirect to it; return None if the form must be shown."""
    if request.method != "POST" or not form.is_valid():
        return None
    try:
        connection = add_connection(request.workspace, form.cleaned_data["name"], form.given)
    except InvalidConnection as error:
        field = error.field if isinstance(error, InvalidFields) else FIELD_OF.get(error.code)
        labels = {name: FieldLabel(str(shown.label)) for name, shown in form.fields.items()}
        form.add_error(field if field in form.fields else None, with_labels(f"{error.message} {error.hint}", labels))
        return None
    messages.success(request, f"Connection {connection.name} saved. Test it now.")
    return redirect("connections:detail", request.workspace.slug, connection.name)


def _show_form(request: HtmxRequest, template: str, form: Form, **more: object) -> HttpResponse:
    return render_page(request, template, {"form": form, **more}, status=422 if form.errors else 200)


@never_cache
@require_POST
@page(role="admin")
def add_embedded(request: HtmxRequest) -> HttpResponse:
    """Add a connection to the workspace's own database on the bundled server, and test it."""
    connect_warehouse(request.workspace)
    messages.success(request, f"Connection {NAME} saved and tested.")
    return redirect("connections:detail", request.workspace.slug, NAME)


@require_GET
@page()
def detail(request: HtmxRequest, name: str) -> HttpResponse:
    return _show(request, get_connection(request.workspace, name), PasswordForm())


def _show(
    request: HtmxRequest,
    connection: Connection,
    form: PasswordForm,
    status: int = 200,
    allowance: AllowanceForm | None = None,
) -> HttpResponse:
    kind = KINDS[connection.kind]
    form.fields["password"].label = f"New {_secret_word(connection)}"
    if connection.kind in STORE_KINDS:
        form.fields["password"].help_text = ""
        with suppress(SecretUnreadable):
            if (secret := replaceable(connection)) is not None and secret.type == "lines":
                form.take_lines()
    used_by = pipelines_using(request.workspace, connection.name)
    context = {
        "connection": connection,
        "kind": kind,
        "secret_word": _secret_word(connection),
        "form": form,
        "used_by": used_by,
        "allows": connection.settings,
        "store_fields": _store_fields(connection),
        "holds_files": _holds_files(connection),
        "holds": STORE_KINDS[connection.kind].holds if connection.kind in STORE_KINDS else "rows",
        "may_browse": is_at_least(request.role, "editor") and _holds_files(connection),
        "allowance": allowance or _allowance_form(connection.settings),
    }
    return render_page(request, "connections/detail.html", context, status=status)


def _holds_files(connection: Connection) -> bool:
    return connection.kind in STORE_KINDS and STORE_KINDS[connection.kind].holds == "files"


def _store_fields(connection: Connection) -> list[tuple[StoreField, object]]:
    """Return the fields of a store with their values; of a secret, whether it is stored."""
    if connection.kind not in STORE_KINDS:
        return []
    settings, secrets = connection.settings["fields"], _stored_secrets(connection)
    fields = STORE_KINDS[connection.kind].fields()
    return [(field, field.name in secrets if field.is_secret else settings.get(field.name)) for field in fields]


def _secret_word(connection: Connection) -> str:
    """Return the name of the secret that can be replaced."""
    if connection.kind in STORE_KINDS:
        with suppress(SecretUnreadable):
            secret = replaceable(connection)
            return secret.title.lower() if secret is not None else ""
    return KINDS[connection.kind].secret_word


def _stored_secrets(connection: Connection) -> set[str]:
    """Return the names of the stored secrets; none if they cannot be decrypted, which a test of the connection
    reports."""
    with suppress(SecretUnreadable):
        return stored_secrets(connection)
    return set()


def _allowance_form(allows: Mapping[str, Any]) -> AllowanceForm:
    functions = "\n".join(allows.get("allowedFunctions", ()))
    return AllowanceForm(initial={"functions": functions, "server_rights": allows.get("allowsServerRights", False)})


@never_cache
@require_POST
@page(role="admin")
def allowance(request: HtmxRequest, name: str) -> HttpResponse:
    """Change what user-written queries may use over the connection."""
    form = AllowanceForm(request.POST)
    try:
        if form.is_valid():
            allow(request.workspace, name, functions=form.given, server_rights=form.cleaned_data["server_rights"])
            messages.success(request, f"Query permissions of {name} saved.")
            return redirect("connections:detail", request.workspace.slug, name)
    except InvalidConnection as error:
        form.add_error("functions", f"{error.message} {error.hint}")
    return _show(request, get_connection(request.workspace, name), PasswordForm(), 422, form)


@require_POST
@page(role="admin")
def test(request: HtmxRequest, name: str) -> HttpResponse:
    """Test the connection and show the steps. A failed test is a result, not an error of the page."""
    connection = probe_connection(request.workspace, name)
    if not request.htmx:
        return redirect("connections:detail", request.workspace.slug, name)
    return render_page(request, "connections/_test.html", {"connection": connection})


@require_POST
@page(role="admin")
def host_key(request: HtmxRequest, name: str) -> HttpResponse:
    """Trust the host key that the last test has shown."""
    try:
        confirm_host_key(request.workspace, name, request.POST.get("fingerprint", ""))
        messages.success(request, f"The host key of {name} is confirmed. Test the connection again.")
    except InvalidConnection as error:
        messages.error(request, f"{error.message} {error.hint}")
    return redirect("connections:detail", request.workspace.slug, name)


@never_cache
@sensitive_post_parameters("password")
@require_POST
@page(role="admin")
def password(request: HtmxRequest, name: str) -> HttpResponse:
    form = PasswordForm(request.POST)
    if not form.is_valid():
        return _show(request, get_connection(request.workspace, name), form, 422)
    try:
        connection = replace_password(request.workspace, name, form.cleaned_data["password"])
    except InvalidConnection as error:
        form.add_error("password", f"{error.message} {error.hint}")
        return _show(request, get_connection(request.workspace, name), form, 422)
    messages.success(request, f"The {_secret_word(connection)} of {name} replaced. Test it now.")
    return redirect("connections:detail", request.workspace.slug, name)


@require_http_methods(["GET", "POST"])
@page(role="admin")
def remove(request: HtmxRequest, name: str) -> HttpResponse:
    """List the pipelines that use the connection and ask for confirmation before removing it."""
    connection = get_connection(request.workspace, name)
    if request.method == "POST":
        remove_connection(request.workspace, name)
        messages.success(request, f"Connection {name} and its password removed.")
        return redirect("connections:list", request.workspace.slug)
    context = {"connection": connection, "used_by": pipelines_using(request.workspace, name)}
    return render_page(request, "connections/remove.html", context)
