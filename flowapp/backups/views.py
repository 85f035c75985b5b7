"""The page that lists and restores backups."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from flowapp.accounts.access import page
from flowapp.backups.selectors import NEWEST_FIRST, RETENTION_DAYS, expires_at, get_backup, list_backups
from flowapp.backups.services import restore_backup
from flowapp.pipelines.selectors import get_pipeline
from flowapp.runs.models import Trigger
from flowapp.runs.selectors import get_run
from flowapp.web.htmx import HtmxRequest, render_page
from flowapp.web.paging import take_page


@require_GET
@page()
def list_page(request: HtmxRequest) -> HttpResponse:
    filters: dict[str, Any] = {}
    for name, find in (("pipeline", get_pipeline), ("run", get_run)):
        if given := request.GET.get(name):
            filters[name] = find(request.workspace, given)
    found = take_page(list_backups(request.workspace, **filters), request.GET.get("cursor", ""), NEWEST_FIRST)
    context = {
        "found": found,
        "rows": [(backup, expires_at(backup), backup.restores.all()) for backup in found.rows],
        "days": RETENTION_DAYS,
        **filters,
    }
    return render_page(request, "backups/list.html", context, fragment="backups/_rows.html")


@require_POST
@page(role="editor")
def restore(request: HtmxRequest, backup: UUID) -> HttpResponse:
    found = get_backup(request.workspace, backup)
    run = restore_backup(found, request.POST.get("reason", ""), Trigger.MANUAL, user=request.user)
    before = f"run {found.run.number} of {found.pipeline.slug}"
    messages.success(request, f"{found} is being restored to its state before {before}.")
    return redirect("runs:detail", request.workspace.slug, run.pk)
