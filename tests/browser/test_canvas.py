"""The canvas by keyboard and mouse: reached, walked, rewired, copied."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import Page, expect

from flowapp.accounts.models import Workspace
from flowapp.pipelines.drafts import open_draft
from flowapp.pipelines.services import create_pipeline
from tests.browser.looks import find_barriers
from tests.browser.test_editor_islands import TEXT, Editor, ids, pytestmark

__all__ = ["pytestmark"]
MOST_STOPS = 5
FIXTURES = Path(__file__).parents[1] / "fixtures" / "pipelines"


def reach_canvas(page: Page) -> None:
    """By the skip link, which is among the first stops of Tab."""
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        if page.locator(":focus").get_attribute("href") == "#flow-canvas":
            page.keyboard.press("Enter")
            return
    raise AssertionError(f"the first {MOST_STOPS} stops do not lead to the canvas")


def test_nodes_are_reached_walked_opened_and_deleted_by_keyboard(page: Page) -> None:
    editor = Editor(page)
    editor.open("visual")
    expect(editor.node("files")).to_be_visible()
    reach_canvas(page)
    expect(editor.node("files")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(editor.node("load")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#flow-panel")).to_have_attribute("data-node", "load")
    expect(page.locator("#flow-panel :focus")).to_have_count(1)
    page.keyboard.press("F6")
    expect(editor.node("load")).to_be_focused()
    page.keyboard.press("?")
    expect(page.get_by_role("heading", name="Keyboard shortcuts")).to_be_visible()
    assert find_barriers(page) == []
    page.keyboard.press("Escape")
    editor.focus("load")
    page.keyboard.press("Delete")
    editor.wait_for(lambda document: ids(document) == ["files"])
    page.keyboard.press("Control+z")
    editor.wait_for(lambda document: ids(document) == ["files", "load"])


def test_a_node_is_inserted_on_an_edge_by_keyboard_and_copied_into_another_pipeline(page: Page) -> None:
    editor = Editor(page)
    editor.open("visual")
    page.get_by_role("button", name="Insert a node between files and load").press("Enter")
    page.get_by_role("menuitem", name="Insert validate").press("Enter")
    editor.wait_for(lambda document: ids(document) == ["files", "load", "check"])
    assert [node.get("inputs") for node in editor.document["nodes"]] == [None, ["check"], ["files"]]

    editor.focus("check")
    page.keyboard.press("Control+d")
    editor.wait_for(lambda document: ids(document)[3:] == ["check_2"])
    expect(editor.node("check_2")).to_be_focused()
    editor.focus("check")
    page.keyboard.press("Escape")
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Control+c")
    other = create_pipeline(Workspace.objects.get(slug="alices-team"), "other", "")
    page.goto("/w/alices-team/pipelines/other/")
    page.get_by_role("button", name="Add a source").focus()
    page.keyboard.press("Control+v")
    expect(page.locator(".react-flow__node")).not_to_have_count(0)
    draft = open_draft(other, editor.user)
    assert ids(json.loads(draft.text)) == ["load", "check"]


def test_an_end_of_an_edge_is_dragged_to_another_node(page: Page) -> None:
    more = '{"kind": "source", "id": "more", "connector": "local_fs"},\n    {"id": "load"'
    editor = Editor(page, text=TEXT.replace('{"id": "load"', more))
    editor.open("visual")
    expect(editor.node("more")).to_be_visible()
    page.wait_for_timeout(500)
    end = page.locator(".react-flow__edgeupdater-source").bounding_box()
    place = editor.node("more").locator(".react-flow__handle.source").bounding_box()
    assert end
    assert place
    page.mouse.move(end["x"] + end["width"] / 2, end["y"] + end["height"] / 2)
    page.mouse.down()
    page.mouse.move(place["x"] + 20, place["y"] + 20, steps=5)
    page.mouse.move(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2, steps=5)
    page.mouse.up()
    editor.wait_for(lambda document: document["nodes"][2]["inputs"] == ["more"])
    expect(page.locator(".flow-done")).to_contain_text("load now reads from more instead of files.")


def test_the_edges_of_a_branch_node_say_which_rows_take_them(page: Page) -> None:
    editor = Editor(page, text=(FIXTURES / "valid" / "branch.json").read_text())
    editor.open("visual")
    labels = page.locator(".flow-edge-label")
    expect(labels).to_have_text(["region = 'EU'", "amount >= 1000", "otherwise"])
    editor.node("route").click()
    expect(page.locator("#flow-panel")).to_have_attribute("data-node", "route")
    expect(page.locator("#flow-panel").get_by_label("Default branch", exact=True)).to_have_value("rest")
    assert find_barriers(page) == []
    editor.focus("big")
    page.keyboard.press("Delete")
    editor.wait_for(lambda document: [branch["to"] for branch in document["nodes"][1]["branches"]] == ["eu"])
