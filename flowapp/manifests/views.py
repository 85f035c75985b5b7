"""The Plan pages: propose, review, approve, apply, discard and revert projects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from flowapp.accounts.access import page
from flowapp.manifests import proposals
from flowapp.manifests.applying import Actor, Applied, Options
from flowapp.manifests.models import Proposal, ProposalState
from flowapp.manifests.planning import Planned, make_plan, parse_project
from flowapp.manifests.states import read_state, saved_document
from flowapp.manifests.uploads import read_server_folder, read_uploads, server_environment, server_folder
from flowapp.pipelines.diffs import side_by_side
from flowapp.web.errors import status_of
from flowapp.web.htmx import HtmxRequest, render_page
from flowapp.web.paging import take_page
from ir.canonical import serialize
from ir.errors import FlowError
from ir.manifests.diagnostics import InvalidProject
from ir.manifests.plan import Plan
from ir.words import counted

COUNTS = ("new", "changed", "restored", "removed", "drifted", "adopted", "unchanged", "connections")
"""The counts of a plan in the order of the page, because a stored plan has lost the order of its keys."""


@never_cache
@require_GET
@page("editor")
def home(request: HtmxRequest) -> HttpResponse:
    return _render_home(request)


def _render_home(request: HtmxRequest, error: FlowError | None = None) -> HttpResponse:
    found = take_page(
        proposals.list_proposals(request.workspace), request.GET.get("cursor", ""), proposals.NEWEST_FIRST, 25
    )
    context = {
        "found": found,
        "folder": server_folder(request.workspace),
        **_errors(error),
    }
    return render_page(request, "manifests/home.html", context, status=status_of(error) if error else 200)


def _errors(error: FlowError | None) -> dict[str, Any]:
    return {"error": error, "diagnostics": error.diagnostics if isinstance(error, InvalidProject) else ()}


@require_POST
@page("editor")
def upload(request: HtmxRequest) -> HttpResponse:
    """Propose uploaded files."""
    try:
        files = read_uploads(request.FILES.getlist("files"))
        return _propose(request, files, "upload")
    except FlowError as error:
        return _render_home(request, error)


@require_POST
@page("editor")
def propose_folder(request: HtmxRequest) -> HttpResponse:
    """Propose the project folder of the server."""
    try:
        return _propose(request, read_server_folder(request.workspace), "folder")
    except FlowError as error:
        return _render_home(request, error)


def _propose(request: HtmxRequest, files: Mapping[str, bytes], origin: proposals.Origin) -> HttpResponse:
    planned = make_plan(request.workspace, parse_project(request.workspace, files), server_environment())
    if planned.plan.is_empty:
        messages.success(request, "No changes: the workspace matches the project.")
        return redirect("manifests:home", request.workspace.slug)
    return _to_detail(request, proposals.propose(planned, origin, request.user))


@never_cache
@require_GET
@page("editor")
def detail(request: HtmxRequest, proposal: UUID) -> HttpResponse:
    found = proposals.get_proposal(request.workspace, proposal)
    error: FlowError | None = None
    planned: Planned | None = None
    try:
        planned = _plan_now(found)
    except FlowError as invalid:  # The plan can still be discarded.
        error = invalid
    plan = planned.plan if planned is not None else Plan.read(found.plan)
    needs_admin = "admin" in plan.needs
    context = {
        "proposal": found,
        "plan": plan,
        "counts": [(name, plan.summary[name]) for name in COUNTS if plan.summary.get(name)],
        "is_open": planned is not None,
        "may_discard": found.state in proposals.OPEN,
        **_errors(error),
        "is_outdated": found.state == ProposalState.APPROVED and plan.fingerprint != found.fingerprint,
        "needs_force": "force" in plan.needs,
        "needs_yes": "yes" in plan.needs,
        "needs_admin": needs_admin,
        "may_revert": found.state in proposals.REVERTIBLE,
        "may_decide": request.role == "admin" or not needs_admin,
    }
    return render_page(request, "manifests/detail.html", context)


def _plan_now(proposal: Proposal) -> Planned | None:
    """Plan an open proposal again. Return None for a closed one, which shows its stored plan."""
    return proposals.plan_of(proposal, server_environment()) if proposal.state in proposals.OPEN else None


@never_cache
@require_GET
@page("editor")
def diff(request: HtmxRequest, proposal: UUID, slug: str) -> HttpResponse:
    """Compare the documents of the workspace and of the project side by side."""
    found = proposals.get_proposal(request.workspace, proposal)
    current = read_state(request.workspace, found.project).pipelines.get(slug)
    declared = parse_project(request.workspace, found.files).pipelines.get(slug)
    if current is None and declared is None:
        raise FlowError("pipeline.unknown", f"Neither the project nor the workspace has a pipeline {slug!r}.")
    before = serialize(saved_document(current.document)) if current is not None and current.document else ""
    after = serialize(saved_document(declared.document)) if declared is not None else ""
    context = {"proposal": found, "slug": slug, "lines": side_by_side(before, after)}
    return render_page(request, "manifests/diff.html", context)


@require_POST
@page("editor")
def approve(request: HtmxRequest, proposal: UUID) -> HttpResponse:
    found = proposals.get_proposal(request.workspace, proposal)
    planned = _reviewed(request, proposals.plan_of(found, server_environment()))
    proposals.approve(found, planned.plan, _actor(request))
    messages.success(request, "The plan is approved.")
    return _to_detail(request, found)


@require_POST
@page("editor")
def apply(request: HtmxRequest, proposal: UUID) -> HttpResponse:
    found = proposals.get_proposal(request.workspace, proposal)
    environment = server_environment()
    options = Options(force="force" in request.POST, yes="yes" in request.POST)
    planned = _reviewed(request, proposals.plan_of(found, environment))
    applied = proposals.apply_proposal(found, planned, environment, _actor(request), options)
    _report(request, applied)
    return _to_detail(request, found)


def _reviewed(request: HtmxRequest, planned: Planned) -> Planned:
    """Return the plan if it is the one that the page has shown. Raises FlowError `plan.changed`."""
    if request.POST.get("fingerprint") != planned.plan.fingerprint:
        raise FlowError(
            "plan.changed",
            "The workspace has changed since the page showed this plan.",
            hint="Reload the page and review the current plan.",
        )
    return planned


def _report(request: HtmxRequest, applied: Applied) -> None:
    if applied.steps:
        messages.success(request, f"{counted(len(applied.steps), 'change')} applied.")
    for one in (*applied.refused, *applied.failed):
        hint = _HINTS.get(one.code, one.hint)
        messages.warning(request, f"{one.kind.capitalize()} {one.id} was not applied. {one.message} {hint}")


_FORCE = "tick “Overwrite changes made in the browser or by another project” and apply the rest."
_HINTS = {
    "plan.drift": f"To overwrite that, {_FORCE}",
    "plan.other_project": f"To move it into this project, {_FORCE}",
    "plan.needs_yes": "To do that, tick “Archive pipelines and remove connections” and apply the rest.",
}
"""Hints for the page instead of options of the command line."""


@require_POST
@page("editor")
def discard(request: HtmxRequest, proposal: UUID) -> HttpResponse:
    found = proposals.get_proposal(request.workspace, proposal)
    proposals.discard(found, _actor(request))
    messages.success(request, "The plan is discarded.")
    return redirect("manifests:home", request.workspace.slug)


@require_POST
@page("editor")
def revert(request: HtmxRequest, proposal: UUID) -> HttpResponse:
    found = proposals.get_proposal(request.workspace, proposal)
    unchanged = proposals.revert(found, _actor(request))
    if unchanged:
        messages.warning(request, f"Changed since and not reverted: {', '.join(unchanged)}.")
    else:
        messages.success(request, "The pipelines are as they were before.")
    return _to_detail(request, found)


def _actor(request: HtmxRequest) -> Actor:
    return Actor(request.user, request.role)


def _to_detail(request: HtmxRequest, proposal: Proposal) -> HttpResponse:
    return redirect("manifests:detail", request.workspace.slug, proposal.pk)
