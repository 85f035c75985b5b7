"""Two tabs of one user with one draft: neither overwrites changes of the other, on any surface."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.looks import find_barriers
from tests.browser.test_editor_islands import Editor, ids

pytestmark = pytest.mark.django_db(transaction=True)
NUMBERS = "/w/alices-team/pipelines/numbers/"
REFUSED = "changed in another tab or program"


@pytest.fixture
def editor(page: Page) -> Editor:
    return Editor(page)


@pytest.fixture
def stale(editor: Editor, page: Page) -> Iterator[Page]:
    """A tab on the node `load`, of which another tab has changed the table since."""
    other = page.context.new_page()
    other.goto(f"{NUMBERS}?node=load")
    expect(other.get_by_label("Table", exact=True)).to_have_value("numbers")
    expect(other.locator(".react-flow__node")).to_have_count(2)
    page.goto(f"{NUMBERS}?node=load")
    enter(page, "of_first_tab")
    editor.wait_for(lambda document: document["nodes"][1]["table"] == "of_first_tab")
    yield other
    other.close()


def enter(page: Page, table: str) -> None:
    page.get_by_label("Table", exact=True).fill(table)
    page.get_by_label("Table", exact=True).press("Tab")


def test_a_form_is_refused_brought_up_to_date_and_then_taken(editor: Editor, stale: Page) -> None:
    enter(stale, "of_second_tab")
    expect(stale.locator("#messages")).to_contain_text(REFUSED)
    expect(stale.locator("#messages")).to_contain_text("You entered: of_second_tab")
    expect(stale.locator("#messages")).to_be_in_viewport()
    expect(stale.get_by_label("Table", exact=True)).to_have_value("of_first_tab")
    expect(stale.locator(".react-flow__node[data-id=load]")).to_contain_text("of_first_tab")
    assert editor.document["nodes"][1]["table"] == "of_first_tab"
    assert find_barriers(stale, "#messages") == []
    enter(stale, "of_second_tab")
    editor.wait_for(lambda document: document["nodes"][1]["table"] == "of_second_tab")
    expect(stale.locator("#messages")).to_be_empty()


def test_canvas_and_undo_are_refused_and_show_the_draft_as_it_is(editor: Editor, stale: Page) -> None:
    stale.locator("#flow-undo").click()
    expect(stale.locator("#messages")).to_contain_text(REFUSED)
    expect(stale.get_by_label("Table", exact=True)).to_have_value("of_first_tab")
    enter(stale, "of_second_tab")
    editor.wait_for(lambda document: document["nodes"][1]["table"] == "of_second_tab")

    first = editor.page
    editor.focus("files")
    first.keyboard.press("Delete")
    expect(first.locator("#toasts")).to_contain_text("changed elsewhere")
    expect(first.get_by_label("Table", exact=True)).to_have_value("of_second_tab")
    assert ids(editor.document) == ["files", "load"]


def test_edits_of_one_tab_that_follow_at_once_are_all_taken(editor: Editor, page: Page) -> None:
    page.goto(f"{NUMBERS}?node=load")
    expect(page.locator(".react-flow__node")).to_have_count(2)
    page.get_by_label("Table", exact=True).fill("quick")
    page.get_by_role("toolbar", name="Add nodes").get_by_role("button", name="Validate").click()
    page.get_by_label("Schema", exact=True).fill("shop")
    page.get_by_role("toolbar", name="Add nodes").get_by_role("button", name="Transform").click()
    editor.wait_for(lambda document: ids(document) == ["files", "load", "check", "transform"])
    editor.wait_for(
        lambda document: (document["nodes"][1]["schema"], document["nodes"][1]["table"]) == ("shop", "quick")
    )
    expect(page.locator("#messages")).to_be_empty()


def test_a_value_is_taken_that_is_being_entered_when_the_form_of_another_node_comes(editor: Editor, page: Page) -> None:
    page.goto(f"{NUMBERS}?node=load")
    expect(page.locator(".react-flow__node")).to_have_count(2)
    held: list[Route] = []
    page.route("**/panel/?*node=files*", lambda route: route.continue_() if held else held.append(route))
    with page.expect_request("**/panel/?*node=files*"):
        editor.node("files").click()
    page.get_by_label("Schema", exact=True).fill("shop")
    held[0].continue_()
    editor.wait_for(lambda document: document["nodes"][1]["schema"] == "shop")
    expect(page.locator("#flow-panel")).to_have_attribute("data-node", "files")
    expect(page.locator("#messages")).to_be_empty()


def test_a_save_is_refused_that_would_store_what_the_tab_has_not_shown(editor: Editor, stale: Page) -> None:
    stale.get_by_role("button", name="Save", exact=True).click()
    expect(stale.locator("#messages")).to_contain_text(REFUSED)
    expect(stale.get_by_label("Table", exact=True)).to_have_value("of_first_tab")
    editor.pipeline.refresh_from_db()
    assert not editor.pipeline.latest_number


def test_a_schedule_is_refused_and_then_taken(editor: Editor, stale: Page, page: Page) -> None:
    stale.goto(f"{NUMBERS}?tab=schedule")
    enter(page, "again")
    editor.wait_for(lambda document: document["nodes"][1]["table"] == "again")
    stale.get_by_label("Runs", exact=True).select_option("daily")
    expect(stale.locator("#messages")).to_contain_text(REFUSED)
    assert "schedule" not in editor.document
    stale.get_by_label("Runs", exact=True).select_option("daily")
    editor.wait_for(lambda document: "schedule" in document)
    assert editor.document["nodes"][1]["table"] == "again"


def test_the_text_of_one_tab_and_the_form_of_another_are_both_shown_before_one_replaces_the_other(
    editor: Editor, stale: Page, page: Page
) -> None:
    stale.goto(f"{NUMBERS}?tab=json")
    expect(stale.get_by_text('"Numbers"', exact=True)).to_be_visible()
    enter(page, "again")
    editor.wait_for(lambda document: document["nodes"][1]["table"] == "again")
    stale.get_by_text('"Numbers"', exact=True).dblclick()
    stale.keyboard.type("Zahlen")
    conflict = stale.locator(".flow-json-conflict")
    expect(conflict).to_be_visible()
    assert editor.document["metadata"]["name"] == "Numbers"
    conflict.get_by_role("button", name="Keep your text").click()
    editor.wait_for(lambda document: document["metadata"]["name"] == "Zahlen")

    enter(page, "later")
    expect(page.locator("#messages")).to_contain_text(REFUSED)
    expect(page.get_by_label("Table", exact=True)).to_have_value("of_first_tab")
