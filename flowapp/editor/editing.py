"""The editor of one pipeline: its page, and the fragments that its forms and buttons load."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import HttpResponseClientRedirect, HttpResponseClientRefresh

from flowapp.accounts.access import page
from flowapp.backfills.staleness import describe_outdated
from flowapp.editor.detecting import detect_source
from flowapp.editor.rendering import Editor, as_message, page_context, pane_context, render_conflict, render_update
from flowapp.editor.streams import list_offers
from flowapp.pipelines import drafts
from flowapp.pipelines.checking import read_value
from flowapp.pipelines.diffs import side_by_side
from flowapp.pipelines.drafts import DraftConflict
from flowapp.pipelines.edits import form_patch
from flowapp.pipelines.models import Draft
from flowapp.pipelines.panel import list_diagnostics
from flowapp.pipelines.selectors import get_version
from flowapp.pipelines.services import VersionConflict, restore_version
from flowapp.runs.load_units.new_files import has_loaded_all
from flowapp.runs.models import RunKind, Trigger
from flowapp.runs.services import QUEUES, read_run_kind
from flowapp.web.htmx import HtmxRequest, toast
from ir.diagnostics import InvalidPipeline
from ir.errors import FlowError
from ir.json_edits import PatchRefused, UnreadableText

EditorView = Callable[[HtmxRequest, str], HttpResponse]


def changes_draft(view: EditorView) -> EditorView:
    """Decorate a view that edits the draft. If the draft was changed elsewhere, respond with the current draft."""

    @wraps(view)
    def wrapped(request: HtmxRequest, slug: str) -> HttpResponse:
        try:
            return view(request, slug)
        except DraftConflict as conflict:
            return render_conflict(Editor.of(request, slug), conflict)

    return wrapped


@require_GET
@never_cache
@page()
def edit(request: HtmxRequest, slug: str) -> HttpResponse:
    editor = Editor.of(request, slug)
    return render(request, "pipelines/edit.html", page_context(editor, editor.view(editor.draft())))


@require_GET
@page()
def panel(request: HtmxRequest, slug: str) -> HttpResponse:
    """Render the right pane and the bars again."""
    editor = Editor.of(request, slug)
    return render_update(editor, editor.draft(), announce=False)


@require_POST
@page("editor")
@changes_draft
def form(request: HtmxRequest, slug: str) -> HttpResponse:
    """Apply the change of one field or button of a form."""
    editor = Editor.of(request, slug)
    draft = editor.draft()
    document = read_value(draft.text)
    if document is None:
        raise UnreadableText("The JSON text is invalid, so forms cannot change it.")
    data = request.POST.copy()
    data["node"], data["at"] = editor.node, editor.at
    patch = form_patch(document, data)
    draft = drafts.patch_draft(draft, patch, _label(data), seen=editor.seen)
    return render_update(editor, draft, node=_node_after(data, editor.node, draft))


def _label(data: QueryDict) -> str:
    where = data.get("path", "").rpartition("/")[2] or data.get("kind", "") or data.get("value", "")
    return f"{data.get('action', '').replace('_', ' ')} {where}".strip().capitalize()[:200]


def _node_after(data: QueryDict, node: str, draft: Draft) -> str:
    """Return the id of the node whose form is shown after an action."""
    match data.get("action"):
        case "add_node":
            return str(read_value(draft.text)["nodes"][-1]["id"])
        case "delete_node":
            return ""
        case "rename_node":
            return data.get("value", "").strip()
        case _:
            return node


@require_GET
@never_cache
@page("editor")
def detect(request: HtmxRequest, slug: str) -> HttpResponse:
    """Show the detected settings of the source's newest file, with buttons that apply them to the draft."""

    def find(document: Any, node: str) -> dict[str, Any]:
        return {"detected": detect_source(request.workspace, document, node)}

    return _found_at_source(request, slug, find, "pipelines/_detected.html")


@require_GET
@never_cache
@page("editor")
def streams(request: HtmxRequest, slug: str) -> HttpResponse:
    """Show the streams of the source's tap, with buttons that select one in the draft."""

    def find(document: Any, node: str) -> dict[str, Any]:
        offers, left_out = list_offers(request.workspace, document, node)
        return {"offers": offers, "left_out": left_out}

    return _found_at_source(request, slug, find, "pipelines/_streams.html")


def _found_at_source(
    request: HtmxRequest, slug: str, find: Callable[[Any, str], dict[str, Any]], template: str
) -> HttpResponse:
    """Show what `find` returns for the document and a source node of the draft, or its error."""
    editor = Editor.of(request, slug)
    view = editor.view(editor.draft())
    context: dict[str, Any] = {"editor": editor, **pane_context(editor, view, editor.node)}
    try:
        if view.document is None:
            raise UnreadableText("The JSON text is invalid, so settings cannot be changed.")
        context |= find(view.document, editor.node)
    except FlowError as error:
        context["error"] = error
    return render(request, template, context)


@require_POST
@page("editor")
@changes_draft
def fix(request: HtmxRequest, slug: str) -> HttpResponse:
    """Apply a fix that a diagnostic offers."""
    try:
        patch = json.loads(request.POST.get("patch", ""))
    except (ValueError, RecursionError):
        raise PatchRefused("The fix is not valid JSON.") from None
    editor = Editor.of(request, slug)
    return render_update(editor, drafts.patch_draft(editor.draft(), patch, "Fix", seen=editor.seen))


@require_POST
@page("editor")
@changes_draft
def undo(request: HtmxRequest, slug: str) -> HttpResponse:
    editor = Editor.of(request, slug)
    return render_update(editor, drafts.undo(editor.draft(), editor.seen))


@require_POST
@page("editor")
@changes_draft
def redo(request: HtmxRequest, slug: str) -> HttpResponse:
    editor = Editor.of(request, slug)
    return render_update(editor, drafts.redo(editor.draft(), editor.seen))


@require_POST
@page("editor")
@changes_draft
def discard(request: HtmxRequest, slug: str) -> HttpResponse:
    editor = Editor.of(request, slug)
    draft = drafts.discard(editor.draft(), editor.seen)
    return toast(render_update(editor, draft), "Draft discarded.", "info")


@require_POST
@page("editor")
@changes_draft
def keep(request: HtmxRequest, slug: str) -> HttpResponse:
    """Resolve a conflict: rebase the draft on the version that the conflict showed."""
    editor = Editor.of(request, slug)
    draft = editor.draft()
    try:
        draft = drafts.put_on_version(draft, _version_number(request), editor.seen)
    except VersionConflict as conflict:
        return _conflict(editor, draft, conflict)
    response = render_update(editor, draft)
    return toast(
        response, f"Your draft now follows version {draft.base_number}. Save it to replace that version.", "info"
    )


@require_POST
@page("editor")
@changes_draft
def save(request: HtmxRequest, slug: str) -> HttpResponse:
    editor = Editor.of(request, slug)
    draft = editor.draft()
    try:
        version = drafts.save_draft(draft, editor.user, _message(request), role=request.role, seen=editor.seen)
    except VersionConflict as conflict:
        return _conflict(editor, draft, conflict)
    except InvalidPipeline:
        return _not_saved(editor, draft)
    response = render_update(editor, _again(editor))
    return toast(response, f"Saved as version {version.number}. {describe_outdated(editor.pipeline)}".strip())


def _message(request: HtmxRequest) -> str:
    return request.POST.get("message", "").replace("\0", "")[:2000]


def _again(editor: Editor) -> Draft:
    editor.pipeline.refresh_from_db()
    return editor.draft()


def _conflict(editor: Editor, draft: Draft, conflict: VersionConflict) -> HttpResponse:
    newest = get_version(editor.pipeline)
    context = {
        "pipeline": editor.pipeline,
        "editor": editor,
        "error": conflict,
        "newest": newest,
        "lines": side_by_side(drafts.json_text(newest.document), draft.text),
    }
    return as_message(render(editor.request, "pipelines/_conflict.html", context, status=412))


def _not_saved(editor: Editor, draft: Draft) -> HttpResponse:
    """Show the errors that prevent saving, each with a link to its node or tab."""
    errors = [found for found in list_diagnostics(drafts.view_draft(draft)) if found.diagnostic.severity == "error"]
    edit_url = reverse("pipelines:edit", args=[editor.request.workspace.slug, editor.pipeline.slug])
    context = {"editor": editor, "errors": errors, "edit_url": edit_url}
    return as_message(render(editor.request, "pipelines/_not_saved.html", context, status=422))


@require_POST
@page("editor")
@changes_draft
def run(request: HtmxRequest, slug: str) -> HttpResponse:
    """Queue a run or a preview of the newest version. With unsaved changes, `save` saves the draft first and `as_saved`
    ignores it; without either, the response asks the user to choose."""
    editor = Editor.of(request, slug)
    draft, kind = editor.draft(), read_run_kind(request.POST.get("kind", RunKind.LOAD))
    if drafts.view_draft(draft).changes or not editor.pipeline.latest_number:
        if "save" in request.POST:
            try:
                drafts.save_draft(draft, editor.user, _message(request), role=request.role, seen=editor.seen)
            except VersionConflict as conflict:
                return _conflict(editor, draft, conflict)
            except InvalidPipeline:
                return _not_saved(editor, draft)
        elif "as_saved" not in request.POST:
            document = drafts.view_draft(draft).checked.pipeline
            context = {
                "editor": editor,
                "pipeline": editor.pipeline,
                "run_kind": kind.value,
                "all_loaded": document is not None and has_loaded_all(editor.pipeline, document),
            }
            return as_message(render(request, "pipelines/_save_first.html", context))
    queued = QUEUES[kind](editor.pipeline, Trigger.MANUAL, user=editor.user)
    return HttpResponseClientRedirect(reverse("runs:detail", args=[request.workspace.slug, queued.pk]))


@require_POST
@page("editor")
def restore(request: HtmxRequest, slug: str) -> HttpResponse:
    editor = Editor.of(request, slug)
    number = _version_number(request)
    version = restore_version(editor.pipeline, number, editor.user, role=request.role)
    return toast(HttpResponseClientRefresh(), f"Version {number} is version {version.number} now.")


def _version_number(request: HtmxRequest) -> int:
    number = request.POST.get("version", "")
    if not number.isdecimal() or len(number) > 9:
        raise FlowError("version.unknown", f"{number!r} is no version.", hint="Choose a value from the list.")
    return int(number)
