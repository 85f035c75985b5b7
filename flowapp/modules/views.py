"""The page Custom transforms."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from flowapp.accounts.access import page
from flowapp.modules.forms import ModuleForm
from flowapp.modules.selectors import list_modules
from flowapp.modules.services import add_module, remove_module
from flowapp.modules.uploading import read_module
from flowapp.modules.usage import pipelines_by_module
from flowapp.web.htmx import HtmxRequest, render_page
from ir.errors import FlowError


@require_GET
@page()
def listing(request: HtmxRequest) -> HttpResponse:
    return _show(request, ModuleForm())


@require_POST
@page(role="admin")
def add(request: HtmxRequest) -> HttpResponse:
    form = ModuleForm(request.POST, request.FILES)
    if not form.is_valid():
        return _show(request, form)
    given = form.cleaned_data
    try:
        content = read_module(given["file"])
        stored = add_module(request.workspace, given["name"], content, given["granted"], str(request.user))
    except FlowError as error:
        form.add_error("name" if error.code == "custom.name_invalid" else "file", f"{error.message} {error.hint}")
        return _show(request, form)
    messages.success(request, f"Module {stored.name} added. Pipelines can use it in the operation custom.")
    return redirect("modules:list", request.workspace.slug)


@require_POST
@page(role="admin")
def remove(request: HtmxRequest, name: str, sha256: str) -> HttpResponse:
    removed = remove_module(request.workspace, name, sha256)
    messages.success(request, f"Module {removed.name} ({removed.sha256[:12]}) removed.")
    return redirect("modules:list", request.workspace.slug)


def _show(request: HtmxRequest, form: ModuleForm) -> HttpResponse:
    users = pipelines_by_module(request.workspace)
    builds = [{"build": build, "used_by": users.get(build.ref, [])} for build in list_modules(request.workspace)]
    return render_page(
        request, "modules/list.html", {"builds": builds, "form": form}, status=422 if form.errors else 200
    )
