"""Pages that belong to no other app: start, workspaces, search and documentation."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST

from flowapp.accounts.access import page, signed_in
from flowapp.accounts.errors import AccountError
from flowapp.accounts.forms import WorkspaceForm
from flowapp.accounts.models import Membership
from flowapp.accounts.selectors import list_memberships, may_make_workspaces
from flowapp.accounts.services import hide_first_steps, make_workspace
from flowapp.accounts.sole_control import see_ended_credentials
from flowapp.home.search import find
from flowapp.web.docs import INDEX, list_groups, read_page, title_of
from flowapp.web.htmx import HtmxRequest, render_page


@signed_in
def start(request: HtmxRequest) -> HttpResponse:
    """Redirect to the user's only workspace, else to the list of workspaces."""
    memberships = list_memberships(request.user)
    if len(memberships) == 1:
        return redirect("pipelines:list", memberships[0].workspace.slug)
    return redirect("workspaces")


@require_http_methods(["GET", "POST"])
@signed_in
def workspaces(request: HtmxRequest) -> HttpResponse:
    """List the user's workspaces. Admins of the installation can create workspaces."""
    form = WorkspaceForm(request.POST or None) if may_make_workspaces(request.user) else None
    if request.method == "POST":
        if form is None:
            raise PermissionDenied
        if form.is_valid():
            try:
                made = make_workspace(form.cleaned_data["slug"], request.user)
            except AccountError as error:
                form.add_error("slug", f"{error.message} {error.hint}")
            else:
                messages.success(request, f"Workspace {made.workspace.slug} created. You are its admin.")
                _keep_session(request, made)
                return redirect("pipelines:list", made.workspace.slug)
    context = {
        "memberships": list_memberships(request.user),
        "form": form,
        "first_workspace": settings.FLOW_WORKSPACE,
    }
    return render_page(request, "web/workspaces.html", context, status=422 if form and form.errors else 200)


def _keep_session(request: HtmxRequest, made: Membership) -> None:
    """Renew this session and report the credentials that ended: joining a workspace ends those that others may know."""
    if made.ended is None:
        return
    for ended in see_ended_credentials(made.user):
        messages.warning(
            request,
            f"Other people may have had access to your account. The new workspace is yours alone: {ended} ended, "
            "except this session. Set your password again.",
        )
    update_session_auth_hash(request, made.user)


@signed_in
def docs(request: HtmxRequest, name: str = INDEX) -> HttpResponse:
    """Show a page of the documentation, by default its index."""
    text = read_page(name)
    if text is None:
        raise Http404("Page not found.")
    context = {"name": name, "title": title_of(name), "page": text, "groups": list_groups(), "is_index": name == INDEX}
    return render_page(request, "web/docs.html", context)


@page()
def workspace_home(request: HtmxRequest) -> HttpResponse:
    return redirect("pipelines:list", request.workspace.slug)


@require_POST
@page("editor")
def hide_steps(request: HtmxRequest) -> HttpResponse:
    if request.membership is not None:
        hide_first_steps(request.membership)
    messages.success(request, "First steps hidden.")
    return redirect("pipelines:list", request.workspace.slug)


@page()
def search(request: HtmxRequest) -> HttpResponse:
    """List the pages, actions and pipelines whose names contain the words, for Ctrl-K."""
    words = request.GET.get("q", "").strip()[:100]
    context = {"words": words, "groups": find(request.workspace, request.role, words)}
    return render_page(request, "web/search.html", context, fragment="web/_search_results.html")
