"""Pages that belong to no app: the start, the search, and what is shown when something goes wrong."""

from __future__ import annotations

import logging

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.views.decorators.http import require_http_methods

from flowapp.accounts.forms import WorkspaceForm
from flowapp.accounts.models import Membership
from flowapp.accounts.selectors import list_memberships, may_make_workspaces
from flowapp.accounts.services import AccountError, make_workspace
from flowapp.accounts.sole_control import see_ended_credentials
from flowapp.api.problems import problem_response
from flowapp.web.access import page, signed_in
from flowapp.web.docs import read_page
from flowapp.web.errors import is_htmx, make_error_id, show_error, to_messages
from flowapp.web.htmx import HtmxRequest, render_page
from flowapp.web.search import find

logger = logging.getLogger(__name__)


@signed_in
def start(request: HtmxRequest) -> HttpResponse:
    """To the only workspace, else the choice among them."""
    memberships = list_memberships(request.user)
    if len(memberships) == 1:
        return redirect("pipelines:list", memberships[0].workspace.slug)
    return redirect("workspaces")


@require_http_methods(["GET", "POST"])
@signed_in
def workspaces(request: HtmxRequest) -> HttpResponse:
    """The choice among one's workspaces; admins of the installation make new ones."""
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
                messages.success(request, f"Workspace {made.workspace.slug} is made, and you are its admin.")
                _keep_session(request, made)
                return redirect("pipelines:list", made.workspace.slug)
    context = {
        "memberships": list_memberships(request.user),
        "form": form,
        "first_workspace": settings.FLOW_WORKSPACE,
    }
    return render_page(request, "web/workspaces.html", context, status=422 if form and form.errors else 200)


def _keep_session(request: HtmxRequest, made: Membership) -> None:
    """Of the maker's credentials, this session alone outlasts those that others may have had."""
    if made.ended is None:
        return
    for ended in see_ended_credentials(made.user):
        messages.warning(
            request,
            f"Others may have had access to your account. The new workspace is yours alone: {ended} ended, other than "
            "this session. Set your password again.",
        )
    update_session_auth_hash(request, made.user)


@signed_in
def docs(request: HtmxRequest, name: str) -> HttpResponse:
    """A page of the documentation."""
    text = read_page(name)
    if text is None:
        raise Http404("No such page.")
    return render_page(request, "web/docs.html", {"name": name, "page": text})


@page()
def workspace_home(request: HtmxRequest) -> HttpResponse:
    return redirect("pipelines:list", request.workspace.slug)


@page()
def search(request: HtmxRequest) -> HttpResponse:
    """What Ctrl-K lists: pages and actions, and the pipelines whose name holds the words."""
    words = request.GET.get("q", "").strip()[:100]
    context = {"words": words, "groups": find(request.workspace, request.role, words)}
    return render_page(request, "web/search.html", context, fragment="web/_search_results.html")


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, 400, "request.bad", "This request cannot be understood.")


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, 403, "permission_denied", "This is not allowed.")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, 404, "not_found", "There is nothing here, or not for you.")


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return _answer(request, 403, "csrf.failed", "This form is too old, or cookies are blocked.")


def server_error(request: HttpRequest) -> HttpResponse:
    """Asks neither the session nor the database, either of which may be what failed."""
    if _is_api(request):
        return problem_response(request, 500, "server.error", "Something went wrong on our side.")
    error_id = make_error_id()
    logger.error("%s %s failed (id %s)", request.method, request.path, error_id)
    name = "errors/_500.html" if is_htmx(request) else "errors/500.html"
    return to_messages(request, HttpResponse(render_to_string(name, {"error_id": error_id}), status=500))


HINTS = {
    "request.bad": "Go back and try again.",
    "permission_denied": "Ask an admin of the workspace for a higher role.",
    "not_found": "Look at the address, or start from the list of pipelines.",
    "csrf.failed": "Go back, reload the page, and send the form again. Nothing was changed.",
}


def _answer(request: HttpRequest, status: int, code: str, message: str) -> HttpResponse:
    if _is_api(request):
        return problem_response(request, status, code, message)
    error = {"code": code, "message": message, "hint": HINTS[code]}
    context = {"error": error, "error_id": make_error_id(), "status": status}
    logger.info("%s %s answered %s (id %s)", request.method, request.path, status, context["error_id"])
    return show_error(request, context, status)


def _is_api(request: HttpRequest) -> bool:
    return request.path.startswith("/api/")
