"""The editor in a browser: built by forms alone, stopped by a missing key, fixed, undone, saved; one truth for all."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, expect

from flowapp.accounts.models import Workspace
from flowapp.accounts.services import add_member, make_login_link
from flowapp.pipelines.models import Draft, Pipeline
from flowapp.pipelines.services import create_pipeline
from tests.browser.looks import sideways
from tests.databases import connect_to

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def table(warehouse):
    with connect_to(warehouse) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS public.airlines (carrier text PRIMARY KEY, name text)")


@pytest.fixture
def workspace():
    return Workspace.objects.create(slug="browser-team")


@pytest.fixture
def connected(workspace, warehouse):
    from flowapp.connections.fields import ConnectionFields
    from flowapp.connections.services import add_connection

    add_connection(
        workspace,
        "warehouse",
        ConnectionFields(
            "postgres", warehouse.host, warehouse.port, warehouse.database, warehouse.user, warehouse.password
        ),
    )
    return workspace


@pytest.fixture
def open_editor(page: Page, connected, table):
    def call(slug: str, name: str = "Airlines") -> Page:
        create_pipeline(connected, slug, name)
        add_member(connected, "editor@example.com", "editor")
        link, _ = make_login_link("editor@example.com")
        page.goto(re.sub(r"https?://[^/]+", "", link))
        if page.get_by_role("button").count():
            page.get_by_role("button").first.click()
        page.goto(f"/w/{connected.slug}/pipelines/{slug}/")
        return page

    return call


def settled(page: Page, words: str) -> None:
    expect(page.locator("#flow-count")).to_contain_text(words, timeout=20_000)


def text_of(slug: str) -> dict:
    return json.loads(Draft.objects.get(pipeline__slug=slug).text)


def test_a_long_name_gives_way_so_that_the_panes_end_with_the_window(open_editor):
    name = "Orders of all customers of the northern branches, as their shops send them each evening after closing time"
    page = open_editor("airlines", name)
    page.set_viewport_size({"width": 1440, "height": 900})
    expect(page.locator("#flow-title h1")).to_have_attribute("title", name)
    assert page.evaluate("document.documentElement.scrollHeight - window.innerHeight") <= 0
    here = page.locator(".breadcrumb-item.active")
    expect(here).to_have_attribute("title", name)
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.locator(".breadcrumb").evaluate("list => list.clientHeight") < 30, "it stands in one line"
        assert sideways(page) <= 0


def test_a_pipeline_is_built_fixed_undone_and_saved_without_touching_the_canvas(open_editor):
    page = open_editor("airlines")
    page.locator("#add-source").click()
    expect(page.locator("#flow-panel")).to_have_attribute("data-node", "source")
    page.get_by_label("Folder", exact=True).fill("in")
    page.get_by_label("Folder", exact=True).press("Tab")
    page.locator("#outline-settings").click()
    page.locator("#add-target").click()
    expect(page.locator("#flow-panel")).to_have_attribute("data-node", "load")
    page.locator("#node-inputs").select_option("source")
    page.get_by_label("Table", exact=True).fill("airlines")
    page.get_by_label("Table", exact=True).press("Tab")
    settled(page, "no errors")

    page.locator("#mode-upsert").check()
    settled(page, "1 error")
    expect(page.locator(".flow-mode-fields")).to_contain_text('upsert needs a key in "Key columns"')
    page.get_by_role("button", name="Set Key columns to carrier").click()
    settled(page, "no errors")

    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Control+z")
    settled(page, "1 error")
    page.keyboard.press("Control+Shift+z")
    settled(page, "no errors")
    assert text_of("airlines")["nodes"][1]["upsertKey"] == ["carrier"]

    page.locator("#flow-save-more").click()
    page.locator("#flow-message").fill("All of it")
    page.get_by_role("button", name="Save with this message").click()
    expect(page.locator("#flow-title")).to_contain_text("v1")
    assert Pipeline.objects.get(slug="airlines").latest_number == 1


@pytest.mark.parametrize("width", [1200, 1280, 1400, 1600])
def test_what_is_wrong_with_a_draft_is_not_covered_by_its_buttons(open_editor, width):
    page = open_editor("covered", "Orders")
    page.set_viewport_size({"width": width, "height": 900})
    page.locator("#flow-canvas").get_by_role("button", name="Source", exact=True).click()
    expect(page.locator("#flow-title")).to_contain_text("draft: 1 change")
    reported, buttons = page.locator("#flow-count").bounding_box(), page.locator("#flow-actions").bounding_box()
    assert reported["x"] + reported["width"] <= buttons["x"] or reported["y"] >= buttons["y"] + buttons["height"]


def test_an_edit_on_the_canvas_comes_to_form_and_json_tab(open_editor):
    page = open_editor("shared")
    page.locator("#flow-canvas").get_by_role("button", name="Source", exact=True).click()
    expect(page.locator("#flow-panel")).to_have_attribute("data-node", "source")
    page.get_by_label("Folder", exact=True).fill("landing")
    page.get_by_label("Folder", exact=True).press("Tab")
    expect(page.locator("#flow-canvas")).to_contain_text("landing")
    page.get_by_role("link", name="JSON", exact=True).click()
    expect(page.locator(".cm-content")).to_contain_text('"landing"')
    expect(page.locator("#flow-title")).to_contain_text("draft: 2 changes")
