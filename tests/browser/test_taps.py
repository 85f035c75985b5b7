"""A source that reads a stream of a tap: chosen from the streams that the tap lists."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from playwright.sync_api import Page, expect

from executors.model import Connection
from executors.processes.launch import sandbox_version
from flowapp.accounts.services import ensure_workspace
from flowapp.pipelines.services import create_pipeline, save_version
from tests.browser.looks import find_barriers, find_misplaced, show_as
from tests.browser.people import sign_in
from tests.browser.test_every_page import LOOKS
from tests.flowapp.quarantine.keeping import connect_to
from tests.taps import ORDERS, add_script

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.slow,
    pytest.mark.skipif(not sandbox_version(), reason="this kernel has no Landlock"),
]


@pytest.fixture
def tap() -> Iterator[Path]:
    """A tap in the folder of the web process of the session."""
    add_script(settings.TAPS, "shop", ORDERS)
    yield settings.TAPS
    shutil.rmtree(settings.TAPS / "shop")


@pytest.fixture
def editor(page: Page, tap: Path, warehouse: Connection) -> Page:
    workspace = ensure_workspace("alices-team")
    connect_to(workspace, warehouse)
    source = {"id": "orders", "kind": "source", "connector": "singer", "config": {"tap": "shop", "stream": "none"}}
    target = {"id": "load", "kind": "target", "inputs": ["orders"], "connector": "postgres", "connection": "warehouse"}
    target |= {"schema": "public", "table": "tap_orders", "loadMode": "upsert", "upsertKey": ["id"]}
    create_pipeline(workspace, "shop-orders", "Orders of the shop")
    save_version(
        workspace, json.dumps({"kind": "pipeline", "version": "1.0", "id": "shop-orders", "nodes": [source, target]})
    )
    sign_in(page)
    page.goto("/w/alices-team/pipelines/shop-orders/?node=orders")
    return page


def test_a_stream_is_chosen_from_those_that_the_tap_lists(editor: Page) -> None:
    expect(editor.get_by_label("Tap", exact=True)).to_have_value("shop")
    editor.get_by_role("button", name="List streams").click()
    editor.get_by_role("button", name="Select shop-orders").click()
    expect(editor.get_by_label("Stream", exact=True)).to_have_value("shop-orders")
    editor.get_by_role("button", name="List streams").click()
    expect(editor.get_by_text("Selected", exact=True)).to_be_visible()


def test_the_form_and_the_list_have_no_faults_in_any_look(editor: Page) -> None:
    editor.get_by_role("button", name="List streams").click()
    expect(editor.get_by_role("button", name="Select shop-orders")).to_be_visible()
    faults = []
    for width, colours in LOOKS:
        show_as(editor, colours, width)
        faults += [*find_barriers(editor), *find_misplaced(editor)]
    assert faults == []
