"""The two islands of the editor in a browser: the canvas and the JSON tab, over the real draft."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from flowapp.accounts.models import User, Workspace
from flowapp.pipelines.drafts import open_draft, patch_draft, replace_text
from flowapp.pipelines.models import Draft
from flowapp.pipelines.services import create_pipeline
from tests.browser.looks import Complaints, find_barriers
from tests.browser.people import sign_in

pytestmark = pytest.mark.django_db(transaction=True)

# Uneven on purpose: spaces, an integer that no double holds, keys in no order.
TEXT = """{
  "kind":"pipeline", "version": "1.0",
  "id": "numbers",  "metadata": {"name": "Numbers", "tags": []},
  "nodes": [
    {"kind": "source", "id": "files", "connector": "local_fs", "config": {"path": "in", "big": 12345678901234567890,
      "pattern": {"type": "glob", "value": "*.csv"}, "format": {"type": "csv"}}},
    {"id": "load", "kind": "target", "inputs": ["files"], "connector": "postgres", "connection": "warehouse",
     "schema": "public", "table": "numbers", "loadMode": "upsert"}
  ]
}
"""


class Editor:
    """An editor's page with the draft behind it."""

    def __init__(self, page: Page, role: str = "editor", text: str = TEXT) -> None:
        self.page = page
        sign_in(page, role)
        self.user = User.objects.get(email=f"{role}@example.com")
        self.pipeline = create_pipeline(Workspace.objects.get(slug="alices-team"), "numbers", "")
        replace_text(open_draft(self.pipeline, self.user), text)

    def open(self, tab: str) -> None:
        self.page.goto(f"/w/alices-team/pipelines/numbers/?tab={tab}")
        shown = {"visual": ".flow-canvas", "json": ".flow-json-status[data-state=saved]"}[tab]
        expect(self.page.locator(shown)).to_be_visible()

    def node(self, ident: str) -> Locator:
        return self.page.locator(f".react-flow__node[data-id={ident}]")

    def focus(self, ident: str) -> None:
        """Focus a node. The canvas hides nodes until it has measured them, and hidden nodes take no focus."""
        expect(self.node(ident)).to_be_visible()
        self.node(ident).focus()
        expect(self.node(ident)).to_be_focused()

    @property
    def draft(self) -> Draft:
        return Draft.objects.get(pipeline=self.pipeline, user=self.user)

    @property
    def document(self) -> dict[str, Any]:
        return json.loads(self.draft.text)

    def wait_for(self, is_so: Callable[[dict[str, Any]], bool]) -> None:
        for _ in range(100):
            try:
                if is_so(self.document):
                    return
            except ValueError:
                pass
            self.page.wait_for_timeout(100)
        raise AssertionError(self.draft.text)


def ids(document: dict[str, Any]) -> list[str]:
    return [node["id"] for node in document["nodes"]]


def test_the_canvas_shows_nodes_edges_and_what_is_wrong_with_them(page: Page) -> None:
    editor = Editor(page)
    complaints = Complaints(page)
    editor.open("visual")
    expect(editor.node("files")).to_contain_text("in/*.csv")
    expect(editor.node("load")).to_contain_text("public.numbers · upsert")
    expect(editor.node("load").locator(".flow-badge-error")).to_be_visible()
    expect(page.locator(".react-flow__edge")).to_have_count(1)
    assert (find_barriers(page, "#flow-canvas"), list(complaints)) == ([], [])


def test_nodes_are_added_after_the_selected_one_and_shown_in_their_form(page: Page) -> None:
    editor = Editor(page)
    editor.open("visual")
    editor.node("files").click()
    page.get_by_role("toolbar", name="Add nodes").get_by_role("button", name="Validate").click()
    editor.wait_for(lambda document: ids(document) == ["files", "load", "check"])
    assert editor.document["nodes"][2]["inputs"] == ["files"]
    expect(page.locator("#flow-panel")).to_have_attribute("data-node", "check")


def test_the_canvas_changes_nothing_but_what_it_names(page: Page) -> None:
    editor = Editor(page)
    editor.open("visual")
    editor.focus("files")
    page.keyboard.press("Alt+ArrowDown")
    editor.wait_for(lambda document: all("ui" in node for node in document["nodes"]))
    assert re.sub(r', "ui": \{[^}]*\}', "", editor.draft.text) == TEXT


def test_a_node_is_deleted_and_brought_back_by_keyboard(page: Page) -> None:
    editor = Editor(page)
    editor.open("visual")
    editor.focus("files")
    page.keyboard.press("Delete")
    editor.wait_for(lambda document: ids(document) == ["load"] and document["nodes"][0]["inputs"] == [])
    page.get_by_role("status").filter(has_text="Deleted files").get_by_role("button", name="Undo").press("Enter")
    expect(editor.node("files")).to_be_visible()
    assert editor.draft.text == TEXT


def test_nodes_are_connected_by_dragging(page: Page) -> None:
    editor = Editor(page, text=TEXT.replace('"inputs": ["files"]', '"inputs": []'))
    editor.open("visual")
    page.wait_for_timeout(500)
    editor.node("files").locator(".react-flow__handle.source").drag_to(
        editor.node("load").locator(".react-flow__handle.target")
    )
    editor.wait_for(lambda document: document["nodes"][1]["inputs"] == ["files"])


def test_a_second_edge_replaces_the_first_and_can_be_undone(page: Page) -> None:
    more = '{"kind": "source", "id": "more", "connector": "local_fs"},\n    {"id": "load"'
    editor = Editor(page, text=TEXT.replace('{"id": "load"', more))
    editor.open("visual")
    page.wait_for_timeout(500)
    editor.node("more").locator(".react-flow__handle.source").drag_to(
        editor.node("load").locator(".react-flow__handle.target")
    )
    editor.wait_for(lambda document: document["nodes"][2]["inputs"] == ["more"])
    expect(page.locator(".react-flow__edge")).to_have_count(1)
    expect(page.locator(".flow-done")).to_contain_text("load now reads from more instead of files.")
    page.locator(".flow-done").get_by_role("button", name="Undo").click()
    editor.wait_for(lambda document: document["nodes"][2]["inputs"] == ["files"])


def test_a_change_made_elsewhere_meanwhile_is_not_overwritten(page: Page) -> None:
    editor = Editor(page)
    editor.open("visual")
    patch_draft(editor.draft, [{"op": "remove", "path": "/nodes/0"}])
    before = editor.draft.text
    editor.focus("load")
    page.keyboard.press("Delete")
    expect(page.locator("#toasts")).to_contain_text("changed elsewhere")
    expect(editor.node("files")).to_have_count(0)
    assert editor.draft.text == before


def test_viewers_and_unreadable_texts_have_a_canvas_that_says_why_it_is_read_only(page: Page) -> None:
    editor = Editor(page)
    replace_text(editor.draft, TEXT.replace("]\n}", "]\n"))
    editor.open("visual")
    expect(page.locator(".flow-locked")).to_contain_text("The JSON text is invalid")
    expect(editor.node("load")).to_be_visible()
    expect(page.get_by_role("toolbar", name="Add nodes")).to_have_count(0)


def test_typed_text_is_saved_byte_for_byte(page: Page) -> None:
    text = TEXT.replace("\n", "\r\n")
    editor = Editor(page, text=text)
    editor.open("json")
    page.get_by_text('"Numbers"', exact=True).dblclick()
    page.keyboard.type("Zahlen")
    editor.wait_for(lambda document: document["metadata"]["name"] == "Zahlen")
    assert editor.draft.text == text.replace('"Numbers"', '"Zahlen"')


def test_diagnostics_appear_at_their_places_link_their_code_and_follow_edits(page: Page) -> None:
    editor = Editor(page)
    complaints = Complaints(page)
    editor.open("json")
    expect(page.locator(".flow-json-status")).to_contain_text("error")
    wrong = page.locator(".cm-line", has_text='"connection": "warehouse"').locator(".cm-lintRange-error").first
    expect(wrong).to_be_visible()
    wrong.hover()
    expect(page.locator(".cm-tooltip .flow-json-code")).to_have_attribute("href", re.compile(r"^/docs/errors/#\w+$"))
    assert (find_barriers(page, "#flow-json"), list(complaints)) == ([], [])
    page.locator(".cm-content").press("Control+End")
    page.keyboard.type("x")
    expect(page.locator("#flow-panel .alert")).to_contain_text("The JSON text is invalid")
    page.keyboard.press("Backspace")
    expect(page.locator("#flow-panel .alert")).to_have_count(0)


def test_completion_offers_what_the_schema_allows_here_even_while_the_schema_loads(page: Page) -> None:
    editor = Editor(page)
    schema: list[Route] = []
    page.route("**/schema/pipeline.json", lambda route: schema.append(route))
    editor.open("json")
    page.locator(".cm-line", has_text='"upsert"').click()
    page.keyboard.press("End")
    for _ in range(2):
        page.keyboard.press("ArrowLeft")
    page.keyboard.press("Control+Space")
    schema[0].continue_()
    options = page.locator(".cm-tooltip-autocomplete")
    expect(options).to_contain_text("blue_green")
    expect(options).not_to_contain_text("csv")


def test_the_json_tab_shows_the_selected_node(page: Page) -> None:
    editor = Editor(page)
    editor.open("visual")
    editor.node("load").click()
    expect(page.locator("#flow-panel")).to_have_attribute("data-node", "load")
    page.get_by_role("link", name="JSON", exact=True).click()

    expect(page.locator("#flow-panel")).to_have_attribute("data-node", "load")
    expect(page.locator(".cm-activeLine")).to_contain_text('"id": "load"')


def test_two_texts_are_both_shown_and_nothing_is_lost_before_somebody_chooses(page: Page) -> None:
    editor = Editor(page)
    editor.open("json")
    theirs = TEXT.replace("Numbers", "Theirs")
    replace_text(editor.draft, theirs)
    page.locator(".cm-content").press("Control+End")
    page.keyboard.type(" ")
    conflict = page.locator(".flow-json-conflict")
    expect(conflict).to_be_visible()
    assert find_barriers(page, "#flow-json") == []
    assert editor.draft.text == theirs
    conflict.get_by_role("button", name="Keep your text").click()
    editor.wait_for(lambda document: document["metadata"]["name"] == "Numbers")
    assert editor.draft.text == TEXT + " "


def test_a_click_that_would_overtake_the_text_waits_for_it(page: Page) -> None:
    editor = Editor(page)
    editor.open("json")
    page.get_by_text('"Numbers"', exact=True).dblclick()
    page.keyboard.type("Zahlen")
    page.get_by_role("link", name="Visual").click()
    expect(editor.node("load")).to_be_visible()
    assert editor.document["metadata"]["name"] == "Zahlen"


def test_viewers_read_both_and_change_neither(page: Page) -> None:
    editor = Editor(page, role="viewer")
    editor.open("visual")
    expect(page.locator(".flow-locked")).to_contain_text("only editors can change this")
    editor.open("json")
    expect(page.locator(".cm-content")).to_have_attribute("contenteditable", "false")
