"""The pages of channels, for admins. Nothing here shows a secret."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from flowapp.accounts.access import page
from flowapp.channels.forms import ChangeMailboxForm, EmailForm, FilterForm, SecretForm, WebhookForm
from flowapp.channels.kinds import CHANNEL_KINDS
from flowapp.channels.models import Channel
from flowapp.channels.selectors import (
    NEWEST_FIRST,
    RETENTION_DAYS,
    count_by_state,
    get_channel,
    get_delivery,
    list_channels,
    list_deliveries,
)
from flowapp.channels.services import add_channel, change_address, change_filter, remove_channel, send_again, send_test
from flowapp.web.htmx import HtmxRequest, render_page
from flowapp.web.paging import take_page
from ir.errors import FlowError

FIELD_OF = {
    "channel.name_invalid": "name",
    "channel.name_taken": "name",
    "channel.secret_invalid": "secret",
    "channel.recipients_invalid": "to",
    "channel.password_in_clear": "security",
    "channel.login_invalid": "password",
    "connection.url_invalid": "url",
    "connection.headers_invalid": "headers",
    "connection.host_invalid": "host",
    "channel.secret_again": "password",
}
"""Where a refusal is shown; others are shown above the form."""
Adding = WebhookForm | EmailForm


@require_GET
@page(role="admin")
def list_page(request: HtmxRequest) -> HttpResponse:
    channels = list_channels(request.workspace)
    counts = count_by_state(channels)
    rows = [(channel, CHANNEL_KINDS[channel.kind], counts.get(channel.pk, {})) for channel in channels]
    return render_page(request, "channels/list.html", {"rows": rows, "days": RETENTION_DAYS})


@never_cache
@sensitive_post_parameters("url", "secret", "headers")
@require_http_methods(["GET", "POST"])
@page(role="admin")
def add_webhook(request: HtmxRequest) -> HttpResponse:
    return _add(request, WebhookForm(request.POST or None), "webhook")


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "POST"])
@page(role="admin")
def add_email(request: HtmxRequest) -> HttpResponse:
    return _add(request, EmailForm(request.POST or None), "email")


def _add(request: HtmxRequest, form: Adding, kind: str) -> HttpResponse:
    if request.method == "POST" and form.is_valid():
        try:
            channel = add_channel(request.workspace, form.cleaned_data["name"], form.given, **form.filters())
        except FlowError as error:
            field = FIELD_OF.get(error.code)
            form.add_error(field if field in form.fields else None, f"{error.message} {error.hint}")
        else:
            messages.success(request, f"Channel {channel.name} saved. Send a test now.")
            return redirect("channels:detail", request.workspace.slug, channel.name)
    context = {"form": form, "kind": CHANNEL_KINDS[kind]}
    return render_page(request, "channels/add.html", context, status=422 if form.errors else 200)


@never_cache
@require_GET
@page(role="admin")
def detail(request: HtmxRequest, channel: str) -> HttpResponse:
    return _show(request, get_channel(request.workspace, channel))


def _show(
    request: HtmxRequest,
    channel: Channel,
    *,
    secret_form: SecretForm | None = None,
    address_form: ChangeMailboxForm | None = None,
    status: int = 200,
) -> HttpResponse:
    kind = CHANNEL_KINDS[channel.kind]
    secret_form = secret_form or SecretForm()
    if kind.changes:
        address_form = address_form or ChangeMailboxForm.of(channel.settings)
    secret_form.fields["secret"].label = f"New {kind.secret_word}"
    context = {
        "channel": channel,
        "kind": kind,
        "filter_form": FilterForm({"severity": channel.severity, "kinds": channel.kinds}),
        "secret_form": secret_form,
        "address_form": address_form,
        "found": take_page(list_deliveries(channel), request.GET.get("cursor", ""), NEWEST_FIRST, 25),
        "days": RETENTION_DAYS,
    }
    return render_page(request, "channels/detail.html", context, status=status)


@require_POST
@page(role="admin")
def test(request: HtmxRequest, channel: str) -> HttpResponse:
    """Send a message now, and tell what came of it."""
    found = get_channel(request.workspace, channel)
    delivery = send_test(found)
    if delivery.state == "delivered":
        messages.success(request, f"Test delivered. {delivery.error_message}".strip())
    else:
        messages.error(request, f"Test not delivered: {delivery.error_message}")
    return redirect("channels:detail", request.workspace.slug, found.name)


@require_POST
@page(role="admin")
def again(request: HtmxRequest, channel: str, key: UUID) -> HttpResponse:
    """Send a message that failed once more."""
    found = get_channel(request.workspace, channel)
    if send_again(get_delivery(found, key), str(request.user), request.user):
        messages.success(request, f"{found.name} resends the message within a few seconds.")
    else:
        messages.info(request, "Another person already had this message resent.")
    return redirect("channels:detail", request.workspace.slug, found.name)


@require_POST
@page(role="admin")
def change(request: HtmxRequest, channel: str) -> HttpResponse:
    found = get_channel(request.workspace, channel)
    form = FilterForm(request.POST)
    if not form.is_valid():
        return _show(request, found, status=422)
    change_filter(found, **form.filters())
    messages.success(request, f"Alerts of {found.name} saved.")
    return redirect("channels:detail", request.workspace.slug, found.name)


@never_cache
@sensitive_post_parameters("password")
@require_POST
@page(role="admin")
def address(request: HtmxRequest, channel: str) -> HttpResponse:
    """Change where a mail channel leads."""
    found, form = get_channel(request.workspace, channel), ChangeMailboxForm(request.POST)
    if form.is_valid():
        try:
            change_address(found, form.changes())
        except FlowError as error:
            form.add_error(FIELD_OF.get(error.code), f"{error.message} {error.hint}")
    if form.errors:
        return _show(request, found, address_form=form, status=422)
    messages.success(request, f"Details of {found.name} saved. Send a test now.")
    return redirect("channels:detail", request.workspace.slug, found.name)


@never_cache
@sensitive_post_parameters("secret")
@require_POST
@page(role="admin")
def secret(request: HtmxRequest, channel: str) -> HttpResponse:
    found, form = get_channel(request.workspace, channel), SecretForm(request.POST)
    word = CHANNEL_KINDS[found.kind].secret_word
    if form.is_valid():
        try:
            change_address(found, {CHANNEL_KINDS[found.kind].secret_field: form.cleaned_data["secret"]})
        except FlowError as error:
            form.add_error("secret", f"{error.message} {error.hint}")
    if form.errors:
        return _show(request, found, secret_form=form, status=422)
    messages.success(request, f"The {word} of {found.name} replaced. Send a test now.")
    return redirect("channels:detail", request.workspace.slug, found.name)


@require_POST
@page(role="admin")
def remove(request: HtmxRequest, channel: str) -> HttpResponse:
    found = get_channel(request.workspace, channel)
    remove_channel(found)
    messages.success(request, f"Channel {found.name}, its secret and its log removed.")
    return redirect("channels:list", request.workspace.slug)
