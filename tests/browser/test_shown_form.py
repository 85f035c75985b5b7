"""Which form the editor shows: that of the user's last act, in whatever order the answers come."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.test_editor_islands import Editor, ids

pytestmark = pytest.mark.django_db(transaction=True)

DRAFT = re.compile("/draft/")
PANEL = re.compile(r"/panel/\?")


@pytest.fixture
def editor(page: Page) -> Editor:
    editor = Editor(page)
    editor.open("visual")
    editor.node("files").click()
    shows(page, "files")
    return editor


@contextmanager
def held(page: Page, url: re.Pattern[str], method: str = "GET") -> Iterator[None]:
    """The server gets the requests of this kind that are made meanwhile only afterwards."""
    waiting: list[Route] = []
    is_open = False

    def hold(route: Route) -> None:
        if is_open or route.request.method != method:
            route.continue_()
        else:
            waiting.append(route)

    page.route(url, hold)
    yield
    while not waiting:
        page.wait_for_timeout(20)
    is_open = True
    for route in waiting:
        route.continue_()


def shows(page: Page, node: str) -> None:
    expect(page.locator("#flow-panel")).to_have_attribute("data-node", node)


def settles_on(page: Page, node: str) -> None:
    """No answer that is still under way changes the form."""
    page.wait_for_load_state("networkidle")
    shows(page, node)


def add(page: Page, kind: str) -> None:
    page.get_by_role("toolbar", name="Add nodes").locator(f"#add-{kind}").click()


def test_a_node_added_while_the_canvas_still_reads_an_edit_opens_its_form(editor: Editor) -> None:
    page = editor.page
    with held(page, DRAFT):
        page.get_by_label("Folder", exact=True).fill("other")
        page.get_by_label("Folder", exact=True).press("Tab")
        page.locator("#outline-settings").click()
        add(page, "validate")
    settles_on(page, "check")


def test_a_late_answer_does_not_take_the_place_of_the_form_of_a_new_node(editor: Editor) -> None:
    page = editor.page
    with held(page, PANEL):
        page.locator("#outline-settings").click()
        add(page, "validate")
        expect(editor.node("check")).to_be_visible()
    settles_on(page, "check")


def test_a_form_chosen_after_a_node_was_added_stays_open(editor: Editor) -> None:
    page = editor.page
    with held(page, DRAFT, "PATCH"):
        add(page, "validate")
        page.get_by_role("link", name="load", exact=True).click()
        shows(page, "load")
    expect(editor.node("check")).to_be_visible()
    settles_on(page, "load")


def test_a_node_chosen_while_an_undo_is_under_way_is_shown_after_it(editor: Editor) -> None:
    page = editor.page
    page.get_by_label("Folder", exact=True).fill("other")
    page.get_by_label("Folder", exact=True).press("Tab")
    expect(editor.node("files")).to_contain_text("other/*.csv")
    with held(page, re.compile("/undo/"), "POST"):
        page.locator("#flow-undo").click()
        editor.node("load").click()
    settles_on(page, "load")
    expect(editor.node("files")).to_contain_text("in/*.csv")


def test_the_form_of_a_renamed_node_stays_open_and_its_node_selected(editor: Editor) -> None:
    page = editor.page
    page.locator("#node-id").fill("people")
    page.locator("#node-id").press("Tab")
    expect(editor.node("people")).to_have_class(re.compile("selected"))
    settles_on(page, "people")
    assert ids(editor.document) == ["people", "load"]
