"""The page of one watermark: where the next load begins, its history, and the form that changes it."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from flowapp.accounts.access import page
from flowapp.pipelines.selectors import get_pipeline
from flowapp.watermarks.selectors import get_watermark, plan_next_run
from flowapp.watermarks.services import reset_watermark, set_watermark
from flowapp.watermarks.targets import WatermarkTarget, find_watermark_target
from flowapp.web.htmx import HtmxRequest


@require_GET
@page()
def detail(request: HtmxRequest, slug: str, node: str) -> HttpResponse:
    return _show(request, _target(request, slug, node))


def _show(request: HtmxRequest, target: WatermarkTarget, **more: object) -> HttpResponse:
    return render(request, "watermarks/detail.html", {"target": target, "watermark": get_watermark(target), **more})


@require_POST
@page("editor")
def set_to(request: HtmxRequest, slug: str, node: str) -> HttpResponse:
    target, given = _target(request, slug, node), request.POST
    value, reason = given.get("value", ""), given.get("reason", "")
    if "check" in given:
        return _show(request, target, checked=plan_next_run(target, value), value=value, reason=reason)
    watermark = set_watermark(target, value, reason, str(request.user), revision=given.get("revision"))
    messages.success(request, f"The next load of {node} begins at {watermark.value}.")
    return redirect("watermarks:detail", request.workspace.slug, slug, node)


@require_POST
@page("editor")
def reset(request: HtmxRequest, slug: str, node: str) -> HttpResponse:
    target, given = _target(request, slug, node), request.POST
    reason = given.get("reason", "")
    if "check" in given:
        return _show(request, target, reset_checked=plan_next_run(target, resets=True), reset_reason=reason)
    reset_watermark(target, reason, str(request.user), revision=given.get("revision"))
    messages.success(request, f"The watermark of {node} is reset.")
    return redirect("watermarks:detail", request.workspace.slug, slug, node)


def _target(request: HtmxRequest, slug: str, node: str) -> WatermarkTarget:
    return find_watermark_target(get_pipeline(request.workspace, slug), node)
