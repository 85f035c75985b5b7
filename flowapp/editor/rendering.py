"""The context and the fragments of the editor's page, and the request that they belong to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django_htmx.http import HttpResponseClientRefresh

from flowapp.accounts.roles import is_at_least
from flowapp.backfills.outlook import describe_chunks
from flowapp.editor.canvas import canvas_data
from flowapp.editor.listing import newest_runs
from flowapp.editor.statements import checks_of, expressions_of, targets_of
from flowapp.editor.tabs import next_fires, runs_of, violations_of
from flowapp.pipelines import drafts
from flowapp.pipelines.checking import nodes_of
from flowapp.pipelines.drafts import DraftConflict, DraftView, Seen, read_seen
from flowapp.pipelines.history import history
from flowapp.pipelines.lineage import pictures_of
from flowapp.pipelines.models import Draft, Pipeline
from flowapp.pipelines.panel import NodePanel, list_diagnostics, node_panel, settings_panel
from flowapp.pipelines.pickers import list_column_choices, list_table_choices
from flowapp.pipelines.schedule_form import schedule_form
from flowapp.pipelines.selectors import get_pipeline
from flowapp.uploads.selectors import list_folders
from flowapp.watermarks.selectors import saved_watermark, saved_watermarks
from flowapp.web.errors import status_of
from flowapp.web.htmx import HtmxRequest, trigger
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
ACTIONS = ("panel", "form", "detect", "streams", "fix", "undo", "redo", "discard", "save", "run", "keep", "restore")
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


def as_message(response: HttpResponse) -> HttpResponse:
    response.headers["HX-Retarget"] = "#messages"
    response.headers["HX-Reswap"] = "innerHTML show:top"
    return response


def render_update(
    editor: Editor, draft: Draft, *, node: str | None = None, announce: bool = True, **more: Any
) -> HttpResponse:
    """Render the pane and the bars after a change. Tabs without a pane reload the page."""
    if editor.tab not in WITH_PANEL:
        return HttpResponseClientRefresh()
    context = page_context(editor, editor.view(draft), node=node)
    response = render(editor.request, "pipelines/_update.html", {**context, **more, "is_update": True})
    if announce:
        trigger(response, "flow:draft-changed", origin="form", position=draft.position)
    return response


def render_conflict(editor: Editor, conflict: DraftConflict) -> HttpResponse:
    """Respond to a conflict with the current draft, the reason, and the text that the user entered, for copying."""
    draft, typed = editor.draft(), [text for text in editor.request.POST.getlist("value") if text.strip()]
    if not editor.request.htmx:
        raise conflict
    if editor.tab not in WITH_PANEL:
        messages.warning(editor.request, f"{conflict.message} The page now shows the current draft.")
        return HttpResponseClientRefresh()
    response = render_update(editor, draft, conflict=conflict, typed=typed)
    response.status_code = status_of(conflict)
    response.headers["HX-Retarget"] = "#flow-panel"
    response.headers["HX-Reswap"] = "outerHTML show:top showTarget:#messages"
    return response


def page_context(editor: Editor, view: DraftView, *, node: str | None = None) -> dict[str, Any]:
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
        "backfill_outlook": describe_chunks(view.last_good.get("backfill")),
        "loadable": view.checked.found.loadable,
        "column_types": SIMPLE_TYPES,
        "rule_kinds": list(RULES),
        "folders": list_folders(editor.pipeline.workspace),
        "draft_url": reverse("api:draft", args=[pipeline.slug]),
        "schema_url": reverse("api:pipeline_schema"),
    }
    return {
        **context,
        **_tab_context(editor, view),
        **pane_context(editor, view, editor.node if node is None else node),
    }


def _tab_context(editor: Editor, view: DraftView) -> dict[str, Any]:
    if editor.tab == "visual" and not editor.request.htmx:
        return {"canvas": canvas_data(editor.pipeline, next(iter(view.checked.found.loadable), ""))}
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


def pane_context(editor: Editor, view: DraftView, node: str) -> dict[str, Any]:
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
