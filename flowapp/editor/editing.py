"""The editor of one pipeline: its page, and the fragments that its forms and buttons load."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any
from uuid import uuid4

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import HttpResponseClientRedirect, HttpResponseClientRefresh

from flowapp.accounts.access import page
from flowapp.accounts.roles import is_at_least
from flowapp.editor.canvas import canvas_data
from flowapp.editor.detecting import detect_source
from flowapp.editor.listing import newest_runs
from flowapp.editor.statements import checks_of, expressions_of, targets_of
from flowapp.editor.tabs import next_fires, runs_of, violations_of
from flowapp.pipelines import drafts
from flowapp.pipelines.checking import nodes_of, read_value
from flowapp.pipelines.diffs import side_by_side
from flowapp.pipelines.drafts import DraftConflict, DraftView, Seen, read_seen
from flowapp.pipelines.edits import form_patch
from flowapp.pipelines.history import history
from flowapp.pipelines.lineage import pictures_of
from flowapp.pipelines.models import Draft, Pipeline
from flowapp.pipelines.panel import NodePanel, list_diagnostics, node_panel, settings_panel
from flowapp.pipelines.pickers import list_column_choices, list_table_choices
from flowapp.pipelines.schedule_form import schedule_form
from flowapp.pipelines.selectors import get_pipeline, get_version
from flowapp.pipelines.services import VersionConflict, restore_version
from flowapp.runs.load_units.new_files import has_loaded_all
from flowapp.runs.models import RunKind, Trigger
from flowapp.runs.services import QUEUES, read_run_kind
from flowapp.uploads.selectors import list_folders
from flowapp.watermarks.selectors import saved_watermark, saved_watermarks
from flowapp.web.errors import status_of
from flowapp.web.htmx import HtmxRequest, toast, trigger
from ir.diagnostics import InvalidPipeline
from ir.errors import FlowError
from ir.json_edits import PatchRefused, UnreadableText
from ir.nodes import NODES
from ir.rules import RULES
from ir.types import SIMPLE_TYPES

TABS = (
    ("visual", "Visual"),
    ("json", "JSON"),
    ("sql", "SQL"),
    ("lineage", "Lineage"),
    ("runs", "Runs"),
    ("errors", "Errors"),
    ("schedule", "Schedule"),
    ("history", "History"),
)
ACTIONS = ("panel", "form", "detect", "fix", "undo", "redo", "discard", "save", "run", "keep", "restore")
WITH_PANEL = ("visual", "json", "schedule")


@dataclass(frozen=True)
class Editor:
    """A request to the editor of one pipeline, with the tab and the node whose form is open."""

    request: HtmxRequest
    pipeline: Pipeline
    tab: str
    node: str
    at: str
    seen: Seen

    @classmethod
    def of(cls, request: HtmxRequest, slug: str) -> Editor:
        given = request.GET
        tab = given.get("tab", "visual")
        known = tab if tab in dict(TABS) else "visual"
        pipeline, seen = get_pipeline(request.workspace, slug), read_seen(request.headers)
        return cls(request, pipeline, known, given.get("node", ""), given.get("at", ""), seen)

    @property
    def user(self) -> Any:
        return self.request.user

    def draft(self) -> Draft:
        return drafts.open_draft(self.pipeline, self.user)

    @property
    def can_edit(self) -> bool:
        return is_at_least(self.request.role, "editor")

    def view(self, draft: Draft) -> DraftView:
        return drafts.view_draft(draft, looks_at_files=self.can_edit)


EditorView = Callable[[HtmxRequest, str], HttpResponse]


def changes_draft(view: EditorView) -> EditorView:
    """Decorate a view that edits the draft. If the draft was changed elsewhere, respond with the current draft."""

    @wraps(view)
    def wrapped(request: HtmxRequest, slug: str) -> HttpResponse:
        try:
            return view(request, slug)
        except DraftConflict as conflict:
            return _refresh(Editor.of(request, slug), conflict)

    return wrapped


@require_GET
@never_cache
@page()
def edit(request: HtmxRequest, slug: str) -> HttpResponse:
    editor = Editor.of(request, slug)
    return render(request, "pipelines/edit.html", _context(editor, editor.view(editor.draft())))


@require_GET
@page()
def panel(request: HtmxRequest, slug: str) -> HttpResponse:
    """Render the right pane and the bars again."""
    editor = Editor.of(request, slug)
    return _update(editor, editor.draft(), announce=False)


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
    return _update(editor, draft, node=_node_after(data, editor.node, draft))


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
    editor = Editor.of(request, slug)
    view = editor.view(editor.draft())
    context: dict[str, Any] = {"editor": editor, **_pane(editor, view, editor.node)}
    try:
        if view.document is None:
            raise UnreadableText("The JSON text is invalid, so settings cannot be changed.")
        context["detected"] = detect_source(request.workspace, view.document, editor.node)
    except FlowError as error:
        context["error"] = error
    return render(request, "pipelines/_detected.html", context)


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
    return _update(editor, drafts.patch_draft(editor.draft(), patch, "Fix", seen=editor.seen))


@require_POST
@page("editor")
@changes_draft
def undo(request: HtmxRequest, slug: str) -> HttpResponse:
    editor = Editor.of(request, slug)
    return _update(editor, drafts.undo(editor.draft(), editor.seen))


@require_POST
@page("editor")
@changes_draft
def redo(request: HtmxRequest, slug: str) -> HttpResponse:
    editor = Editor.of(request, slug)
    return _update(editor, drafts.redo(editor.draft(), editor.seen))


@require_POST
@page("editor")
@changes_draft
def discard(request: HtmxRequest, slug: str) -> HttpResponse:
    editor = Editor.of(request, slug)
    draft = drafts.discard(editor.draft(), editor.seen)
    return toast(_update(editor, draft), "Draft discarded.", "info")


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
    response = _update(editor, draft)
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
    response = _update(editor, _again(editor))
    return toast(response, f"Saved as version {version.number}.")


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
    return _as_message(render(editor.request, "pipelines/_conflict.html", context, status=412))


def _not_saved(editor: Editor, draft: Draft) -> HttpResponse:
    """Show the errors that prevent saving, each with a link to its node or tab."""
    errors = [found for found in list_diagnostics(drafts.view_draft(draft)) if found.diagnostic.severity == "error"]
    edit_url = reverse("pipelines:edit", args=[editor.request.workspace.slug, editor.pipeline.slug])
    context = {"editor": editor, "errors": errors, "edit_url": edit_url}
    return _as_message(render(editor.request, "pipelines/_not_saved.html", context, status=422))


def _as_message(response: HttpResponse) -> HttpResponse:
    response.headers["HX-Retarget"] = "#messages"
    response.headers["HX-Reswap"] = "innerHTML show:top"
    return response


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
            return _as_message(render(request, "pipelines/_save_first.html", context))
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


# --- rendering ----------------------------------------------------------------------------------------------------


def _update(
    editor: Editor, draft: Draft, *, node: str | None = None, announce: bool = True, **more: Any
) -> HttpResponse:
    """Render the pane and the bars after a change. Tabs without a pane reload the page."""
    if editor.tab not in WITH_PANEL:
        return HttpResponseClientRefresh()
    context = _context(editor, editor.view(draft), node=node)
    response = render(editor.request, "pipelines/_update.html", {**context, **more, "is_update": True})
    if announce:
        trigger(response, "flow:draft-changed", origin="form", position=draft.position)
    return response


def _refresh(editor: Editor, conflict: DraftConflict) -> HttpResponse:
    """Respond to a conflict with the current draft, the reason, and the text that the user entered, for copying."""
    draft, typed = editor.draft(), [text for text in editor.request.POST.getlist("value") if text.strip()]
    if not editor.request.htmx:
        raise conflict
    if editor.tab not in WITH_PANEL:
        messages.warning(editor.request, f"{conflict.message} The page now shows the current draft.")
        return HttpResponseClientRefresh()
    response = _update(editor, draft, conflict=conflict, typed=typed)
    response.status_code = status_of(conflict)
    response.headers["HX-Retarget"] = "#flow-panel"
    response.headers["HX-Reswap"] = "outerHTML show:top showTarget:#messages"
    return response


def _context(editor: Editor, view: DraftView, *, node: str | None = None) -> dict[str, Any]:
    """Return the template context of the page and its fragments."""
    pipeline = editor.pipeline
    runs = newest_runs({pipeline.pk: None})[pipeline.pk] if editor.tab != "runs" else runs_of(pipeline)
    context = {
        "editor": editor,
        "pipeline": pipeline,
        "draft": view.draft,
        "view": view,
        "tabs": TABS,
        "tab": editor.tab,
        "page_id": uuid4().hex,
        "read_only": not editor.can_edit or view.document is None,
        "is_broken": view.document is None,
        "runs": runs,
        "last_run": runs[0] if runs else None,
        "nodes": [(n.get("id"), n.get("kind")) for _, n in nodes_of(view.last_good)],
        "node_kinds": list(NODES),
        "connections": view.checked.found.known,
        "column_types": SIMPLE_TYPES,
        "rule_kinds": list(RULES),
        "folders": list_folders(editor.pipeline.workspace),
        "draft_url": reverse("api:draft", args=[pipeline.slug]),
        "schema_url": reverse("api:pipeline_schema"),
    }
    return {**context, **_tab_context(editor, view), **_pane(editor, view, editor.node if node is None else node)}


def _tab_context(editor: Editor, view: DraftView) -> dict[str, Any]:
    if editor.tab == "visual" and not editor.request.htmx:
        return {"canvas": canvas_data(editor.pipeline, next(iter(view.checked.found.known), ""))}
    if editor.tab == "history":
        return history(editor.pipeline, view, editor.request.GET)
    if editor.tab == "sql":
        return {
            "sql_targets": targets_of(editor.pipeline, view),
            "checks": checks_of(view),
            "expressions": expressions_of(view),
        }
    if editor.tab == "lineage":
        return {"pictures": pictures_of(view)}
    if editor.tab == "runs":
        return {"watermarks": saved_watermarks(editor.pipeline)}
    if editor.tab == "errors":
        return {"violations": violations_of(editor.pipeline)}
    if editor.tab == "schedule":
        return {"fires": next_fires(view)}
    return {}


def _choices(editor: Editor, view: DraftView, panel: NodePanel) -> dict[str, Any]:
    """Return suggestions for names of tables and columns. Viewers get none: a file without a header would show them a
    row as column names."""
    if not editor.can_edit:
        return {}
    workspace = editor.pipeline.workspace
    return {
        "columns": list_column_choices(workspace, view, panel.at, panel.node),
        "table_choices": list_table_choices(workspace, view.last_good, panel.node),
    }


def _pane(editor: Editor, view: DraftView, node: str) -> dict[str, Any]:
    """Return the template context of the right pane: the form of a node, of the schedule, or of the pipeline."""
    args = [editor.request.workspace.slug, editor.pipeline.slug]
    query = QueryDict(mutable=True)
    query["tab"] = editor.tab
    pane: dict[str, Any] = {"pane": "settings", "node_id": ""}
    if editor.tab == "schedule":
        pane = {"pane": "schedule", "schedule": schedule_form(view, editor.request.POST.get("frequency", ""))}
    elif node and any(n.get("id") == node for _, n in nodes_of(view.last_good)):
        panel = node_panel(view, node)
        query["node"], query["at"] = node, str(panel.at)
        pane = {"pane": "node", "node_id": node, "panel": panel, **_choices(editor, view, panel)}
        pane["watermark"] = saved_watermark(editor.pipeline, node)
    else:
        pane |= {"panel": settings_panel(view)}
    suffix = f"?{query.urlencode()}"
    urls = {f"{name}_url": reverse(f"pipelines:{name}", args=args) + suffix for name in ACTIONS}
    return {**pane, **urls, "diagnostics": list_diagnostics(view), "edit_url": reverse("pipelines:edit", args=args)}
