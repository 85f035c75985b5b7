"""Differences side by side, in the history and in conflicts: both columns are readable."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Page, expect

from executors.model import Connection
from flowapp.accounts.models import User, Workspace
from flowapp.connections.fields import ConnectionFields
from flowapp.connections.services import add_connection
from flowapp.pipelines.drafts import open_draft, patch_draft
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.services import save_version
from tests.browser.looks import find_barriers, in_all_looks, show_as, sideways
from tests.browser.people import sign_in
from tests.flowapp.conftest import make_document

pytestmark = pytest.mark.django_db(transaction=True)
READABLE = 180
"""Pixels."""


def save(pipeline: Pipeline | None, name: str) -> Pipeline:
    workspace = Workspace.objects.get(slug="alices-team")
    document = make_document("compared") | {"metadata": {"name": name}}
    expected = pipeline.latest_number if pipeline else None
    saved = save_version(workspace, json.dumps(document, indent=2), None, "", expected).pipeline
    saved.refresh_from_db()
    return saved


def widths(page: Page) -> list[int]:
    """Of the two columns of text."""
    cells = page.locator(".flow-diff tbody tr:not(.skip)").first.locator("td:not(.n)")
    return cells.evaluate_all("cells => cells.map(cell => Math.round(cell.getBoundingClientRect().width))")


@in_all_looks
def test_both_sides_of_a_difference_can_be_read(page: Page, warehouse: Connection, colours: str, width: int) -> None:
    sign_in(page, "editor")
    w = warehouse
    fields = ConnectionFields("postgres", w.host, w.port, w.database, w.user, w.password)
    add_connection(Workspace.objects.get(slug="alices-team"), "warehouse", fields)
    pipeline = save(save(None, "The first name"), "The second name")
    page.goto("/w/alices-team/pipelines/compared/?tab=history&left=1&right=2")
    show_as(page, colours, width)
    left, right = widths(page)
    assert left == right >= READABLE
    assert find_barriers(page) == []

    patch_draft(
        open_draft(pipeline, User.objects.get(email="editor@example.com")),
        [{"op": "replace", "path": "/metadata/name", "value": "Mine"}],
    )
    save(pipeline, "Another's")
    page.goto("/w/alices-team/pipelines/compared/")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("button", name="Keep my draft")).to_be_visible()
    left, right = widths(page)
    assert left == right >= READABLE
    assert find_barriers(page, "#messages") == []
    assert sideways(page) <= 0
