"""The Settings page: members and roles, API tokens, about."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from flowapp.accounts.about import about
from flowapp.accounts.access import page
from flowapp.accounts.errors import AccountError
from flowapp.accounts.forms import ROLES_EXPLAINED, MemberForm, TokenForm
from flowapp.accounts.models import Membership, User
from flowapp.accounts.selectors import get_workspace_token, governs, list_members, list_tokens
from flowapp.accounts.services import (
    add_member,
    add_token,
    make_member_link,
    remove_member,
    revoke_token,
)
from flowapp.processes.retention import list_retention
from flowapp.web.htmx import HtmxRequest, render_page
from ir.words import counted


@page()
def settings_page(request: HtmxRequest) -> HttpResponse:
    return _show(request)


def _show(request: HtmxRequest, *, status: int = 200, **changes: Any) -> HttpResponse:
    """Render the page. `changes` holds forms with errors, or values that are shown once."""
    context = {
        "members": list_members(request.workspace),
        "tokens": list_tokens(request.workspace) if request.role == "admin" else [],
        "member_form": MemberForm(prefix="member"),
        "token_form": TokenForm(prefix="token"),
        "roles_explained": ROLES_EXPLAINED,
        "about": about(),
        "retention": list_retention(),
        **changes,
    }
    return render_page(request, "accounts/settings.html", context, status=status)


@never_cache
@require_POST
@page(role="admin")
def save_member(request: HtmxRequest) -> HttpResponse:
    """Add a member or change a role."""
    form = MemberForm(request.POST, prefix="member")
    if not form.is_valid():
        return _show(request, member_form=form, status=422)
    try:
        member = add_member(request.workspace, **form.cleaned_data)
    except AccountError as error:
        form.add_error(None, f"{error.message} {error.hint}")
        return _show(request, member_form=form, status=422)
    messages.success(request, f"{member.user.email} added as {member.role.capitalize()}.")
    if member.ended:
        messages.warning(request, _joining_ended(member, request.user))
    return redirect("accounts:settings", request.workspace.slug)


def _joining_ended(member: Membership, admin: User) -> str:
    email = member.user.email
    way = "use the button Login link" if governs(admin, member.user) else f"run `flow user link {email}` on the server"
    return (
        f"Others may have had access to the account {email}. Adding it here revoked {member.ended}. "
        f"To give the person a new login link, {way}."
    )


@require_POST
@page(role="admin")
def drop_member(request: HtmxRequest, member: int) -> HttpResponse:
    membership = get_object_or_404(list_members(request.workspace), pk=member)
    tokens = remove_member(membership)
    ended = f" {counted(tokens, 'API token')} revoked." if tokens else ""
    messages.success(request, f"{membership.user.email} removed from the workspace.{ended}")
    return redirect("accounts:settings", request.workspace.slug)


@never_cache
@require_POST
@page(role="admin")
def member_link(request: HtmxRequest, member: int) -> HttpResponse:
    """Show a one-time login link once, for the admin to hand over."""
    membership = get_object_or_404(list_members(request.workspace), pk=member)
    url, link = make_member_link(request.user, membership)
    return _show(request, new_link={"url": url, "email": membership.user.email, "expires_at": link.expires_at})


@never_cache
@require_POST
@page(role="admin")
def make_token(request: HtmxRequest) -> HttpResponse:
    """Create a token. Its text is only in this response."""
    form = TokenForm(request.POST, prefix="token")
    if not form.is_valid():
        return _show(request, token_form=form, status=422)
    try:
        key, token = add_token(request.workspace, **form.cleaned_data, created_by=request.user)
    except AccountError as error:
        form.add_error("name" if error.code == "token.name_taken" else None, f"{error.message} {error.hint}")
        return _show(request, token_form=form, status=422)
    return _show(request, new_token={"key": key, "token": token})


@require_POST
@page(role="admin")
def drop_token(request: HtmxRequest, token: UUID) -> HttpResponse:
    found = get_workspace_token(request.workspace, pk=token)
    revoke_token(found)
    messages.success(request, f"Token {found.name} revoked.")
    return redirect("accounts:settings", request.workspace.slug)
