"""The channel pages, for admins. No page shows a secret."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from flowapp.accounts.access import page
from flowapp.channels.forms import AddForm, ChangeForm, FilterForm, SecretForm
from flowapp.channels.kinds import CHANNEL_KINDS
from flowapp.channels.kinds.base import ChannelKind
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
from flowapp.channels.services import (
    add_channel,
    change_address,
    change_filter,
    make_address,
    remove_channel,
    send_again,
    send_test,
)
from flowapp.web.htmx import HtmxRequest, render_page
from flowapp.web.paging import take_page
from ir.errors import FlowError

NAME_ERRORS = {"channel.name_invalid": "name", "channel.name_taken": "name"}
"""The form field that shows an error, for all kinds. Errors without a field are shown above the form."""


@require_GET
@page(role="admin")
def list_page(request: HtmxRequest) -> HttpResponse:
    channels = list_channels(request.workspace)
    counts = count_by_state(channels)
    rows = [
        (channel, kind, kind.recipient(channel.settings), counts[channel.pk])
        for channel in channels
        for kind in (CHANNEL_KINDS[channel.kind],)
    ]
    return render_page(
        request, "channels/list.html", {"rows": rows, "days": RETENTION_DAYS, "kinds": CHANNEL_KINDS.values()}
    )


@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
@page(role="admin")
def add(request: HtmxRequest, channel_kind: str) -> HttpResponse:
    if channel_kind not in CHANNEL_KINDS:
        raise Http404
    kind = CHANNEL_KINDS[channel_kind]
    form = AddForm(kind, request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            address = make_address(kind.name, form.given())
            channel = add_channel(request.workspace, form.cleaned_data["name"], address, **form.filters())
        except FlowError as error:
            _show_error(form, kind, error)
        else:
            messages.success(request, f"Channel {channel.name} saved. Send a test now.")
            return redirect("channels:detail", request.workspace.slug, channel.name)
    context = {"form": form, "kind": kind}
    return render_page(request, "channels/add.html", context, status=422 if form.errors else 200)


def _show_error(form: AddForm | ChangeForm, kind: ChannelKind, error: FlowError) -> None:
    field = {**NAME_ERRORS, **kind.error_fields}.get(error.code)
    if kind.secret and error.code == "channel.secret_again":
        field = kind.secret.name
    form.add_error(field if field in form.fields else None, f"{error.message} {error.hint}")


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
    address_form: ChangeForm | None = None,
    status: int = 200,
) -> HttpResponse:
    kind = CHANNEL_KINDS[channel.kind]
    if kind.secret:
        secret_form = secret_form or SecretForm(kind.secret)
    if kind.changes:
        address_form = address_form or ChangeForm.of(kind, channel.settings)
    context = {
        "channel": channel,
        "kind": kind,
        "details": [(field, channel.settings[field.name]) for field in kind.public_fields],
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
    """Send a test message and show the result."""
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
    """Resend a failed message."""
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
@sensitive_post_parameters()
@require_POST
@page(role="admin")
def address(request: HtmxRequest, channel: str) -> HttpResponse:
    """Change the address of a channel."""
    found = get_channel(request.workspace, channel)
    kind = CHANNEL_KINDS[found.kind]
    form = ChangeForm(kind, request.POST)
    if form.is_valid():
        try:
            change_address(found, form.changes())
        except FlowError as error:
            _show_error(form, kind, error)
    if form.errors:
        return _show(request, found, address_form=form, status=422)
    messages.success(request, f"Details of {found.name} saved. Send a test now.")
    return redirect("channels:detail", request.workspace.slug, found.name)


@never_cache
@sensitive_post_parameters("secret")
@require_POST
@page(role="admin")
def secret(request: HtmxRequest, channel: str) -> HttpResponse:
    found = get_channel(request.workspace, channel)
    field = CHANNEL_KINDS[found.kind].secret
    if field is None:
        raise Http404
    form = SecretForm(field, request.POST)
    if form.is_valid():
        try:
            change_address(found, {field.name: form.cleaned_data["secret"]})
        except FlowError as error:
            form.add_error("secret", f"{error.message} {error.hint}")
    if form.errors:
        return _show(request, found, secret_form=form, status=422)
    messages.success(request, f"The {field.title.lower()} of {found.name} replaced. Send a test now.")
    return redirect("channels:detail", request.workspace.slug, found.name)


@require_POST
@page(role="admin")
def remove(request: HtmxRequest, channel: str) -> HttpResponse:
    found = get_channel(request.workspace, channel)
    remove_channel(found)
    messages.success(request, f"Channel {found.name}, its secret and its log removed.")
    return redirect("channels:list", request.workspace.slug)
