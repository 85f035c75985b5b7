"""The preview panel below the canvas: request previews, show them, and edit the draft from them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from executors.api import SAMPLE_KINDS, SampleKind
from flowapp.accounts.access import page
from flowapp.accounts.roles import ROWS_VIEW
from flowapp.node_previews.column_edits import ColumnEdit, added_rule, column_patch
from flowapp.node_previews.rule_counts import rule_lines
from flowapp.node_previews.services import cancel_preview, get_preview, request_preview
from flowapp.node_previews.showing import SIDES, Side, shown_preview
from flowapp.node_previews.store import ENDED, Answer, Owner, PreviewRequest
from flowapp.pipelines import drafts
from flowapp.pipelines.checking import read_value
from flowapp.pipelines.drafts import read_seen
from flowapp.pipelines.neighbours import readers_of
from flowapp.pipelines.selectors import get_pipeline
from flowapp.web.htmx import HtmxRequest, toast, trigger
from ir.errors import FlowError
from ir.json_edits import PatchRefused

MOST_SEED = 2**31
LABELS = {
    "rename": "Renamed {}",
    "cast": "Cast {}",
    "drop": "Dropped {}",
    "keep_value": "Filtered by {}",
    "add_rule": "Added a rule on {}",
    "use_as_key": "Used {} as key",
}


@never_cache
@require_POST
@page(role=ROWS_VIEW)
def start(request: HtmxRequest, slug: str) -> HttpResponse:
    """Request a preview of a node of the draft. If that fails, the panel shows the error."""
    pipeline, given = get_pipeline(request.workspace, slug), request.POST
    view = drafts.view_draft(drafts.open_draft(pipeline, request.user))
    try:
        sample = _sample(given.get("sample", ""))
        preview = request_preview(view, _owner(request), given.get("node", ""), sample, _seed(given.get("seed", "")))
    except FlowError as error:
        return _show(request, slug, Answer("failed", error=error.to_json()))
    return _show(request, slug, Answer("queued"), preview)


@never_cache
@require_GET
@page(role=ROWS_VIEW)
def look(request: HtmxRequest, slug: str, preview: UUID) -> HttpResponse:
    """Show the state of a preview, and its rows once it has ended."""
    get_pipeline(request.workspace, slug)
    try:
        asked, answer = get_preview(_owner(request), preview)
    except FlowError as error:
        return _show(request, slug, Answer("failed", error=error.to_json()))
    return _show(request, slug, answer, asked)


@never_cache
@require_POST
@page(role=ROWS_VIEW)
def cancel(request: HtmxRequest, slug: str, preview: UUID) -> HttpResponse:
    """Cancel a preview and show that in the panel."""
    get_pipeline(request.workspace, slug)
    try:
        asked, answer = cancel_preview(_owner(request), preview)
    except FlowError as error:
        return _show(request, slug, Answer("failed", error=error.to_json()))
    return _show(request, slug, answer, asked)


@require_POST
@page(role=ROWS_VIEW)
def edit(request: HtmxRequest, slug: str) -> HttpResponse:
    """Edit the draft with an action on a column. An event makes the editor show the changed draft."""
    draft = drafts.open_draft(get_pipeline(request.workspace, slug), request.user)
    document = read_value(draft.text)
    if document is None:
        raise PatchRefused("The JSON text is invalid, so forms cannot change it.")
    wanted = _edit_of(request)
    label = LABELS.get(wanted.action, "{}").format(wanted.column)[:200]
    draft = drafts.patch_draft(draft, column_patch(document, wanted), label, seen=read_seen(request.headers))
    response = trigger(HttpResponse(), "flow:draft-changed", origin="preview", position=draft.position)
    if wanted.action == "add_rule" and (added := added_rule(document, read_value(draft.text))):
        trigger(response, "flow:open-form", id=added[0], at=str(added[1]))
    return toast(response, f"{label}. Undo takes it back.", "info")


def _edit_of(request: HtmxRequest) -> ColumnEdit:
    given, action = request.POST, request.POST.get("action", "")
    value = None if action == "keep_value" and "is_null" in given else given.get(f"{action}_value", "")
    node, column, type, reader = (given.get(name, "") for name in ("node", "column", "type", "reader"))
    return ColumnEdit(action, node, column, type, value, reader)


def _readers(request: HtmxRequest, slug: str, node: str) -> list[str]:
    """Return the ids of the nodes that read from a node, so that users can choose the branch to edit."""
    draft = drafts.open_draft(get_pipeline(request.workspace, slug), request.user)
    return [str(reader.get("id")) for reader in readers_of(read_value(draft.text), {"id": node})]


def _sample(text: str) -> SampleKind:
    return next((kind for kind in SAMPLE_KINDS if kind == text), "first")


def _seed(text: str) -> int:
    return int(text) % MOST_SEED if text.isdecimal() and len(text) < 20 else 0


def _owner(request: HtmxRequest) -> Owner:
    return Owner(str(request.workspace.pk), f"user-{request.user.pk}")


def _show(request: HtmxRequest, slug: str, answer: Answer, preview: PreviewRequest | None = None) -> HttpResponse:
    context: dict[str, Any] = {"slug": slug, "answer": answer, "preview": preview, "is_ended": answer.state in ENDED}
    if answer.result is not None:
        side: Side = "before" if request.GET.get("side") == "before" else "after"
        context |= {"shown": shown_preview(answer.result, side), "sides": SIDES}
        context["rule_lines"] = rule_lines(answer.result, preview.document) if preview else []
        context["readers"] = _readers(request, slug, answer.result["node"])
    return render(request, "pipelines/_node_preview_state.html", context)
