"""The pages that create pipelines: from a file, from a table, from a document, or blank."""

from __future__ import annotations

from typing import Any, NamedTuple

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from executors.errors import Failure
from executors.target_database import TableName, list_tables
from flowapp.accounts.access import RoleTooLow, page
from flowapp.accounts.roles import ROWS_VIEW
from flowapp.connections.embedded import connect_warehouse, offers_warehouse
from flowapp.connections.selectors import get_connection
from flowapp.connections.services import resolve
from flowapp.editor.forms import NewPipeline
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.services import create_pipeline, save_version
from flowapp.runs.models import Trigger
from flowapp.runs.services import queue_run
from flowapp.starting.answers import Answers
from flowapp.starting.columns import DATE_FORMATS
from flowapp.starting.from_file import ALL_FILES, start_from_file
from flowapp.starting.from_table import start_from_table
from flowapp.starting.importing import import_document, read_upload
from flowapp.starting.names import free_folder
from flowapp.starting.place import first_connection, target_connections
from flowapp.starting.templates import BLANK, TEMPLATES, put_template
from flowapp.uploads.folder import list_folder
from flowapp.uploads.services import InvalidUpload, keep_upload, uploaded_file
from flowapp.web.errors import status_of
from flowapp.web.htmx import HtmxRequest, render_page
from ir.diagnostics import InvalidPipeline
from ir.errors import FlowError
from ir.formats import READABLE_NAMES

CREATE, RUN, CONNECT = "create", "run", "connect"
"""The values of a form's buttons."""
MOST_TABLES = 500
MOST_SHOWN = 8
"""The maximum number of files on the first page."""


@never_cache
@require_GET
@page("editor")
def home(request: HtmxRequest) -> HttpResponse:
    return _render_home(request)


class Way(NamedTuple):
    """A way to create a pipeline other than from an uploaded file."""

    url: str
    label: str
    help: str
    icon: str


WAYS = (
    Way("starting:files", "A file or folder", "One that is in the workspace's folder already.", "folder"),
    Way("starting:tables", "A table of a connection", "Copy or follow a table of a PostgreSQL database.", "table"),
    Way("starting:blank", "A template or a blank pipeline", "For any source, such as a web service.", "layout-grid"),
    Way("starting:import", "A document", "A pipeline in JSON or TOML, such as an export.", "braces"),
)


def _render_home(request: HtmxRequest, error: FlowError | None = None) -> HttpResponse:
    listing = list_folder(request.workspace, "")
    ways = [(way, reverse(way.url, args=[request.workspace.slug])) for way in WAYS]
    context = {"listing": listing, "files": listing.files[:MOST_SHOWN], "ways": ways, "formats": READABLE_NAMES}
    context["error"] = error
    status = status_of(error) if error else 200
    return render_page(request, "starting/home.html", context, status=status)


@require_POST
@page("editor")
def upload(request: HtmxRequest) -> HttpResponse:
    """Store an uploaded file in a new folder, so that no other pipeline loads it."""
    try:
        file = uploaded_file(request)
        uploaded = keep_upload(request.workspace, free_folder(request.workspace, file.name or ""), file, request.user)
    except InvalidUpload as error:
        return _render_home(request, error)
    return redirect(reverse("starting:file", args=[request.workspace.slug], query={"path": uploaded.path}))


@never_cache
@require_GET
@page("editor")
def files(request: HtmxRequest) -> HttpResponse:
    """List the files and folders of the workspace."""
    context = {"listing": list_folder(request.workspace, request.GET.get("folder", "")), "all_files": ALL_FILES}
    return render_page(request, "starting/files.html", context)


@never_cache
@require_http_methods(["GET", "POST"])
@page(ROWS_VIEW)
def from_file(request: HtmxRequest) -> HttpResponse:
    """Show the settings of a file with its first rows, and the resulting pipeline. Each change reads the rows again;
    `action` creates the pipeline."""
    answers = Answers(request.POST or request.GET)
    action, status = request.POST.get("action", ""), 200
    if action == CONNECT:
        _connect_warehouse(request)
    start = start_from_file(request.workspace, request.GET.get("path", ""), answers)
    if is_refused := action in (CREATE, RUN):
        if start.proposal and start.is_valid:
            return _create(request, start.proposal.text, f"Created from {start.path}", runs=action == RUN)
        status = 422
    context = {
        "start": start,
        "is_refused": is_refused,
        "offers_embedded": _offers_embedded(request),
        "date_formats": DATE_FORMATS,
    }
    return render_page(request, "starting/file.html", context, fragment="starting/_file.html", status=status)


def _connect_warehouse(request: HtmxRequest) -> None:
    """Add the connection to the bundled database that the page offers to admins of a workspace without connections."""
    if not _offers_embedded(request):
        raise RoleTooLow(request.role, "admin", request.workspace)
    connect_warehouse(request.workspace)


def _offers_embedded(request: HtmxRequest) -> bool:
    return request.role == "admin" and offers_warehouse(request.workspace)


def _create(request: HtmxRequest, text: str, message: str, *, runs: bool) -> HttpResponse:
    version = save_version(request.workspace, text, request.user, message, expected_version=0, role=request.role)
    pipeline = version.pipeline
    messages.success(request, f"Pipeline {pipeline.slug} is created.")
    if not runs:
        return _to_editor(request, pipeline)
    run = queue_run(pipeline, Trigger.MANUAL, user=request.user)
    return redirect("runs:detail", request.workspace.slug, run.pk)


def _to_editor(request: HtmxRequest, pipeline: Pipeline) -> HttpResponse:
    return redirect("pipelines:edit", request.workspace.slug, pipeline.slug)


@require_http_methods(["GET", "POST"])
@page("editor")
def blank(request: HtmxRequest) -> HttpResponse:
    """Create a pipeline without nodes, or with those of a template."""
    form = NewPipeline(request.POST or None)
    template = request.POST.get("begin", BLANK)
    if form.is_valid() and template in TEMPLATES:
        try:
            pipeline = create_pipeline(request.workspace, form.cleaned_data["slug"], form.cleaned_data["name"])
        except FlowError as error:
            form.add_error("slug", f"{error.message} {error.hint}")
        else:
            put_template(pipeline, request.user, template, first_connection(request.workspace))
            return _to_editor(request, pipeline)
    context = {"form": form, "templates": TEMPLATES, "begin": template}
    return render_page(request, "starting/blank.html", context, status=422 if form.is_bound else 200)


@never_cache
@require_GET
@page("editor")
def tables(request: HtmxRequest) -> HttpResponse:
    """List the tables of a connection."""
    known, chosen = target_connections(request.workspace), request.GET.get("connection", "")
    context: dict[str, Any] = {"connections": known, "connection": chosen or (known[0] if len(known) == 1 else "")}
    if name := context["connection"]:
        try:
            found = list_tables(resolve(get_connection(request.workspace, name)), MOST_TABLES + 1)
            context |= {"tables": found[:MOST_TABLES], "is_cut": len(found) > MOST_TABLES}
        except Failure as error:
            context["error"] = error
    return render_page(request, "starting/tables.html", context)


@never_cache
@require_http_methods(["GET", "POST"])
@page("editor")
def from_table(request: HtmxRequest) -> HttpResponse:
    """Show the columns of a table, and the pipeline that reads it."""
    asked = request.GET
    source = TableName(asked.get("schema", ""), asked.get("table", ""))
    start = start_from_table(request.workspace, asked.get("connection", ""), source, Answers(request.POST))
    action = request.POST.get("action", "")
    if action in (CREATE, RUN) and start.is_valid:
        return _create(request, start.text, f"Created from {source} of {start.connection}", runs=action == RUN)
    context = {"start": start, "is_refused": bool(action)}
    status = 422 if action else 200
    return render_page(request, "starting/table.html", context, fragment="starting/_table.html", status=status)


@require_http_methods(["GET", "POST"])
@page("editor")
def import_page(request: HtmxRequest) -> HttpResponse:
    context: dict[str, Any] = {"text": request.POST.get("text", "")}
    if request.method == "GET":
        return render_page(request, "starting/import.html", context)
    try:
        if "file" in request.FILES:
            context["text"] = read_upload(uploaded_file(request))
        version = import_document(request.workspace, context["text"], request.user, request.role)
    except InvalidPipeline as invalid:
        context["diagnostics"] = invalid.diagnostics
    except FlowError as error:
        context["error"] = error
    else:
        messages.success(request, f"Pipeline {version.pipeline.slug} is imported.")
        return _to_editor(request, version.pipeline)
    return render_page(request, "starting/import.html", context, status=422)
