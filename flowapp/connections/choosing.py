"""The page on which an admin chooses the kind of a new connection."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET

from flowapp.accounts.access import page
from flowapp.web.htmx import HtmxRequest, render_page
from ir.manifests.stores import STORE_KINDS
from ir.manifests.stores.base import Holding


@dataclass(frozen=True, slots=True)
class Choice:
    """A kind of connection, one sentence about it, and the address of its form."""

    title: str
    help: str
    address: str


@require_GET
@page(role="admin")
def choose_kind(request: HtmxRequest) -> HttpResponse:
    slug = request.workspace.slug
    postgres = Choice(
        "PostgreSQL",
        "A database into which pipelines load rows, and from which sources read rows.",
        reverse("connections:add", args=[slug]),
    )
    webhook = Choice(
        "Webhook",
        "An address that hooks call before or after a load.",
        reverse("connections:add_webhook", args=[slug]),
    )
    groups = [
        ("Databases", "database", [postgres, *_stores(slug, "rows")]),
        ("Files", "files", list(_stores(slug, "files"))),
        ("Tables", "folder", list(_stores(slug, "tables"))),
        ("Applications", "transform", list(_stores(slug, "streams"))),
        ("Calls", "send", [webhook]),
    ]
    return render_page(request, "connections/choose.html", {"groups": groups})


def _stores(slug: str, holds: Holding) -> list[Choice]:
    return [
        Choice(kind.title, inspect.cleandoc(kind.__doc__ or ""), reverse("connections:add_store", args=[slug, name]))
        for name, kind in STORE_KINDS.items()
        if kind.holds == holds
    ]
