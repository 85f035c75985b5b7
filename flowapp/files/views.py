"""The pages of files: the list, one file, loading again, and uploading."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from executors.api import GivenSettings
from flowapp.accounts.access import page
from flowapp.accounts.roles import ROWS_VIEW, may_see_values
from flowapp.files.format_words import describe_format
from flowapp.files.forms import UnitFilter, UploadForm
from flowapp.files.selectors import (
    TRIES_FIRST,
    FileDetail,
    file_of_unit,
    file_of_upload,
    first_unit_of,
    get_upload,
    list_tries,
    list_waiting,
)
from flowapp.files.services import delete_upload, send_file
from flowapp.lists.services import filter_query
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.selectors import get_pipeline, list_pipeline_names
from flowapp.runs.load_units.headers import differing, with_previous_header
from flowapp.runs.load_units.models import UnitState
from flowapp.runs.load_units.selectors import COLUMNS, get_unit, is_to_be_loaded_again, list_units, rows_read
from flowapp.runs.load_units.services import leave_out, load_again, load_file_again
from flowapp.runs.selectors import get_run
from flowapp.uploads.heads import read_head
from flowapp.uploads.models import Upload
from flowapp.uploads.selectors import list_folders, list_read_folders
from flowapp.uploads.services import InvalidUpload, keep_upload, uploaded_file
from flowapp.web.errors import status_of
from flowapp.web.htmx import HtmxRequest, render_page
from flowapp.web.paging import take_page
from flowapp.web.sorting import read_sorting
from ir.errors import FlowError

TRIES_OF_A_PAGE = 25


@require_GET
@page()
def list_page(request: HtmxRequest) -> HttpResponse:
    form = UnitFilter(request.workspace, request.GET)
    filters: dict[str, Any] = form.filters()
    if run := request.GET.get("run"):
        filters["run"] = get_run(request.workspace, run)
    sorting = read_sorting(request.GET.get("sort", ""), COLUMNS)
    units = with_previous_header(form.apply(list_units(request.workspace, **filters)))
    found = take_page(units, request.GET.get("cursor", ""), sorting.order)
    read = rows_read(found.rows)
    is_first = form.is_valid() and not {"pipeline", "run"} & filters.keys() and not request.GET.get("cursor")
    waiting = list_waiting(request.workspace) if is_first and filters.get("state") in (None, UnitState.PENDING) else []
    is_filtered = bool(filters) or not form.is_valid()
    context = {
        "form": form,
        "is_filtered": is_filtered,
        "has_any": is_filtered or bool(found.rows or waiting or request.GET.get("cursor")),
        "waiting": _with_readers(request, waiting),
        "pipeline": filters.get("pipeline"),
        "run": filters.get("run"),
        "found": found,
        "sorting": sorting,
        "query": filter_query(request.GET.urlencode()),
        "rows": [
            (unit, read.get(unit.run_id) if unit.run_id else None, is_to_be_loaded_again(unit)) for unit in found.rows
        ],
        "differing": differing(found.rows),
        "names": list_pipeline_names(request.workspace),
    }
    return render_page(request, "files/list.html", context, fragment="files/_rows.html")


def _with_readers(request: HtmxRequest, waiting: list[Upload]) -> list[tuple[Upload, bool]]:
    """Return each upload, and whether a pipeline reads the folder that contains it."""
    read = set(list_read_folders(request.workspace)) if waiting else set()
    return [(upload, upload.path.rpartition("/")[0] in read) for upload in waiting]


@never_cache
@require_GET
@page()
def unit_page(request: HtmxRequest, unit: UUID) -> HttpResponse:
    download_url = reverse("files:download_unit", args=[request.workspace.slug, unit])
    return _file_page(request, file_of_unit(get_unit(request.workspace, unit)), download_url)


@never_cache
@require_GET
@page()
def upload_page(request: HtmxRequest, upload: UUID) -> HttpResponse:
    download_url = reverse("files:download_upload", args=[request.workspace.slug, upload])
    return _file_page(request, file_of_upload(get_upload(request.workspace, upload)), download_url)


def _file_page(request: HtmxRequest, file: FileDetail, download_url: str) -> HttpResponse:
    """Render the page of a file; roles that see values also get its first rows."""
    sees_values = may_see_values(request.role)
    tries = list_tries(request.workspace, file.sha256)
    context: dict[str, Any] = {
        "file": file,
        "download_url": download_url,
        "sees_values": sees_values,
        "found": take_page(tries, request.GET.get("cursor", ""), TRIES_FIRST, TRIES_OF_A_PAGE),
    }
    if sees_values and file.is_there:
        try:
            detection = read_head(request.workspace, file.path).detect(GivenSettings())
            context |= {"detection": detection, "settings": describe_format(detection.format)}
        except FlowError as error:
            context["error"] = error
    return render_page(request, "files/detail.html", context)


@require_GET
@page(role=ROWS_VIEW)
def download_unit(request: HtmxRequest, unit: UUID) -> StreamingHttpResponse:
    return send_file(request.workspace, get_unit(request.workspace, unit).name)


@require_GET
@page(role=ROWS_VIEW)
def download_upload(request: HtmxRequest, upload: UUID) -> StreamingHttpResponse:
    return send_file(request.workspace, get_upload(request.workspace, upload).path)


@require_POST
@page(role="editor")
def delete(request: HtmxRequest, upload: UUID) -> HttpResponse:
    found = get_upload(request.workspace, upload)
    delete_upload(found)
    messages.success(request, f"{found.path} is deleted.")
    return redirect("files:list", request.workspace.slug)


@require_http_methods(["GET", "POST"])
@page(role="editor")
def upload(request: HtmxRequest) -> HttpResponse:
    form = UploadForm(request.POST or None, initial={"folder": request.GET.get("folder", "")})
    folders, status = list_folders(request.workspace), 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            try:
                folder = form.cleaned_data["folder"]
                uploaded = keep_upload(request.workspace, folder, uploaded_file(request), request.user)
            except InvalidUpload as error:
                form.add_error("folder" if "folder" in error.code else "file", f"{error.message} {error.hint}")
                status = status_of(error)
            else:
                messages.success(request, _arrived(uploaded))
                return redirect("files:list", request.workspace.slug)
    elif not form.initial["folder"] and len(folders) == 1:  # with several folders, a guess could be wrong
        form.initial["folder"] = folders[0]
    return render_page(request, "files/upload.html", {"form": form, "folders": folders}, status=status)


def _arrived(upload: Upload) -> str:
    known = first_unit_of(upload)
    if known is None:
        return f"{upload.path} uploaded. The next run of a pipeline that reads this folder loads it."
    return (
        f"{upload.path} is there. Pipeline {known.pipeline.slug} has seen the same bytes as {known.name} before, and "
        "leaves them out unless it is to load that file again."
    )


@require_POST
@page(role="editor")
def again(request: HtmxRequest, unit: UUID) -> HttpResponse:
    """Let the next run load one file again, with a reason."""
    found = load_file_again(get_unit(request.workspace, unit), request.POST.get("reason", ""))
    messages.success(request, f"{found.name} will be loaded again by the next run of {found.pipeline.slug}.")
    return _filtered_list(request, found.pipeline)


@require_POST
@page(role="editor")
def excluded(request: HtmxRequest, unit: UUID) -> HttpResponse:
    """Exclude a failed file, with a reason, so that the files that wait for it can load."""
    found = leave_out(get_unit(request.workspace, unit), request.POST.get("reason", ""))
    messages.success(request, f"{found.name} is skipped. Files after it no longer wait.")
    return redirect("files:list", request.workspace.slug)


@require_POST
@page(role="editor")
def all_again(request: HtmxRequest, slug: str) -> HttpResponse:
    """Let the next run load all files of a pipeline again, with a reason."""
    pipeline = get_pipeline(request.workspace, slug)
    load_again(pipeline, request.POST.get("reason", ""))
    messages.success(request, f"All files of {slug} will be loaded again by its next run.")
    return _filtered_list(request, pipeline)


def _filtered_list(request: HtmxRequest, pipeline: Pipeline) -> HttpResponse:
    """Redirect to the files of one pipeline, with the previous filter. That page offers to run the pipeline."""
    query = QueryDict(request.POST.get("query", ""), mutable=True)
    query.pop("cursor", None)
    query["pipeline"] = pipeline.slug
    return redirect(f"{reverse('files:list', args=[request.workspace.slug])}?{query.urlencode()}")
