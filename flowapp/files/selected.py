"""Actions on the files selected in the list: first a page that shows the effect on each file, then the action."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.http import HttpResponse, HttpResponseRedirect, QueryDict
from django.views.decorators.http import require_http_methods

from flowapp.accounts.access import page
from flowapp.files.selectors import file_of_upload
from flowapp.files.services import delete_upload
from flowapp.lists.selected import apply_to_each, list_before, require_here, selected_names
from flowapp.runs.load_units.models import LoadUnit, UnitState
from flowapp.runs.load_units.selectors import list_units
from flowapp.runs.load_units.services import leave_out, load_file_again
from flowapp.uploads.models import Upload
from flowapp.web.htmx import HtmxRequest, render_page
from flowapp.web.paging import is_value_of
from ir.errors import FlowError

ListedFile = LoadUnit | Upload


@dataclass(frozen=True, slots=True)
class Action:
    """An action on selected files. `effect` describes what happens to one file; it is "" if the action does not apply
    to the file, for the reason `why_not`. `done` completes the confirmation "2 files …"."""

    button: str
    text: str
    why_not: str
    done: str
    effect: Callable[[ListedFile], str]
    apply: Callable[[ListedFile, str], object]
    needs_reason: bool = True


def _effect_of_again(file: ListedFile) -> str:
    if not isinstance(file, LoadUnit) or file.state == UnitState.PROCESSING:
        return ""
    return f"The next run of {file.pipeline.slug} reads it again."


def _effect_of_skip(file: ListedFile) -> str:
    is_failed = isinstance(file, LoadUnit) and file.state == UnitState.FAILED
    return "It is not loaded. Files that wait for it are loaded by the next run." if is_failed else ""


def _effect_of_delete(file: ListedFile) -> str:
    is_deletable = isinstance(file, Upload) and file_of_upload(file).can_be_deleted
    return "It is deleted and cannot be restored." if is_deletable else ""


def _unit(file: ListedFile) -> LoadUnit:
    if isinstance(file, LoadUnit):
        return file
    raise FlowError(
        "load_again.never_loaded", f"No run has read {file.path} yet.", hint="Run a pipeline that reads it."
    )


def _upload(file: ListedFile) -> Upload:
    if isinstance(file, Upload):
        return file
    raise FlowError(
        "upload.not_deletable",
        f"{file.name} cannot be deleted: a pipeline has read it.",
        hint="Delete such files in the workspace's folder on the server.",
    )


ACTIONS = {
    "again": Action(
        "Load again",
        "With append, rows that were loaded before are loaded twice.",
        "No run has read it yet, or one is loading it now.",
        "will be loaded again",
        _effect_of_again,
        lambda file, reason: load_file_again(_unit(file), reason),
    ),
    "skip": Action(
        "Skip",
        "Only failed files can be skipped. A skipped file that arrives again is loaded.",
        "It has not failed.",
        "skipped",
        _effect_of_skip,
        lambda file, reason: leave_out(_unit(file), reason),
    ),
    "delete": Action(
        "Delete",
        "Only uploads that no pipeline has loaded can be deleted. Their rows are in no table, and are lost unless "
        "there is another copy.",
        "It is no upload, a pipeline has loaded it, or it has changed since.",
        "deleted",
        _effect_of_delete,
        lambda file, _: delete_upload(_upload(file)),
        needs_reason=False,
    ),
}


@require_http_methods(["GET", "POST"])
@page(role="editor")
def act(request: HtmxRequest) -> HttpResponse:
    """Show the effect on each selected file, or apply the action. A refusal for one file does not affect the others."""
    given = request.GET if request.method == "GET" else request.POST
    name, files = given.get("action", ""), _selected(request, given)
    action = ACTIONS.get(name)
    if action is None:
        raise FlowError("action.unknown", f"Unknown action {name!r}.", hint=f"Actions: {', '.join(ACTIONS)}.")
    if request.method == "GET":
        effects = [(file, _name_of(file), action.effect(file)) for file in files]
        context = {
            "name": name,
            "action": action,
            "files": effects,
            "possible": sum(bool(effect) for _, _, effect in effects),
            "query": given.get("query", ""),
        }
        return render_page(request, "files/selected.html", context)
    reason = request.POST.get("reason", "")
    if action.needs_reason and not reason.strip():
        raise FlowError("reason.required", f"{action.button} needs a reason.", hint="Give a reason. It is stored.")
    named = [(_name_of(file), file) for file in files]
    apply_to_each(request, named, lambda file: action.apply(file, reason), "file", action.done)
    return HttpResponseRedirect(list_before(request, "files:list"))


def _name_of(file: ListedFile) -> str:
    return file.name if isinstance(file, LoadUnit) else file.path


def _selected(request: HtmxRequest, given: QueryDict) -> list[ListedFile]:
    """Return the selected files of this workspace. Raises FlowError."""
    keys = selected_names(given.getlist("file"), "file")
    wanted = [key for key in dict.fromkeys(keys) if is_value_of(LoadUnit._meta.pk, key)]
    units = list_units(request.workspace).filter(pk__in=wanted)
    uploads = Upload.objects.filter(workspace=request.workspace, pk__in=wanted).select_related("workspace")
    files: list[ListedFile] = list(units)
    files += uploads.order_by("path", "pk")
    require_here(request, len(set(keys)), len(files), "file", "file.unknown")
    return files
