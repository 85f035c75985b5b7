"""Entered text is not lost: by another button, by leaving the page, by an expired session, by an error page."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import Dialog, Page, expect

from tests.browser.looks import find_barriers, show_as, sideways
from tests.browser.people import sign_in
from tests.browser.test_editor_islands import Editor
from tests.browser.test_quarantine import ERRORS, people, work_off

__all__ = ["people"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.spark]


@pytest.fixture
def workbench(page: Page, people: Callable[[], Any]) -> Page:
    """Three rejected rows, in one of which a value was entered."""
    page.goto(f"{ERRORS}rows/?pipeline=people")
    page.get_by_role("button", name="Fix all matching rows").click()
    bob(page).fill("Bob")
    return page


def bob(page: Page) -> Any:
    return page.get_by_label("name in record 2 of in/people.csv")


def test_rows_are_fixed_checked_and_replayed_in_this_order(workbench: Page) -> None:
    headings = workbench.locator("main h2").all_inner_texts()
    assert headings == ["1. Fix", "2. Check", "3. Replay", "Or ignore the rows"]
    assert workbench.locator(".flow-grid tbody tr").first.locator("td").first.get_attribute("class") == "failing-field"
    for colours, width in (("light", 1280), ("dark", 768), ("light", 390)):
        show_as(workbench, colours, width)
        assert find_barriers(workbench) == []
        assert sideways(workbench) <= 0


def test_replay_asks_about_values_that_are_not_saved(workbench: Page, people: Callable[[], Any]) -> None:
    workbench.get_by_role("button", name="Replay 3 rows").click()
    asked = workbench.get_by_role("dialog", name="1 changed value is not saved")
    expect(asked).to_be_visible()
    assert find_barriers(workbench) == []
    asked.get_by_role("button", name="Cancel").click()
    expect(bob(workbench)).to_have_value("Bob")
    workbench.get_by_role("button", name="Check again").click()
    asked.get_by_role("button", name="Save changes first").click()
    expect(workbench.get_by_text("1 row is fixed.")).to_be_visible()
    workbench.on("dialog", lambda dialog: dialog.accept())
    workbench.get_by_role("button", name="Replay 3 rows").click()
    workbench.wait_for_url("**/runs/**")
    work_off()
    assert (2, "Bob") in people()


def test_continuing_without_saving_submits_the_saved_values(workbench: Page) -> None:
    workbench.get_by_role("button", name="Check again").click()
    workbench.get_by_role("button", name="Check again without saving").click()
    workbench.wait_for_url("**/runs/**")


def test_leaving_asks_about_values_that_are_not_saved(workbench: Page) -> None:
    asked: list[str] = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    workbench.on("dialog", stay)
    workbench.get_by_role("link", name="Connections").click()
    workbench.wait_for_timeout(300)
    assert asked == ["beforeunload"]
    expect(bob(workbench)).to_have_value("Bob")


def test_a_session_that_ends_leaves_what_was_entered_in_its_form(workbench: Page) -> None:
    Session.objects.all().delete()
    workbench.get_by_role("button", name="Save changes").click()
    expect(workbench.get_by_role("heading", name="Sign in")).to_be_visible()
    back = re.search(r"next=([^&]*)", workbench.url)
    assert back
    assert "selection" in back[1]
    sign_in(workbench)
    workbench.goto(unquote(back[1]))
    expect(bob(workbench)).to_have_value("Bob")
    expect(workbench.locator("#toasts")).to_contain_text("Your input is restored")
    workbench.get_by_role("button", name="Save changes").click()
    expect(workbench.get_by_text("1 row is fixed.")).to_be_visible()


def test_a_session_that_ends_leaves_what_was_entered_in_the_editor(page: Page) -> None:
    editor = Editor(page)
    page.goto("/w/alices-team/pipelines/numbers/?node=load")
    expect(page.locator(".react-flow__node")).to_have_count(2)
    Session.objects.all().delete()
    page.get_by_label("Table", exact=True).fill("elsewhere")
    page.get_by_label("Table", exact=True).press("Tab")
    expect(page.get_by_role("heading", name="You are signed out")).to_be_visible()
    assert find_barriers(page, "#messages") == []
    other = page.context.new_page()
    sign_in(other, "editor")
    page.get_by_label("Table", exact=True).fill("elsewhere again")
    page.get_by_label("Table", exact=True).press("Tab")
    editor.wait_for(lambda document: document["nodes"][1]["table"] == "elsewhere again")


def test_a_refresh_of_the_form_leaves_what_is_being_entered(page: Page) -> None:
    Editor(page)
    page.goto("/w/alices-team/pipelines/numbers/?node=load")
    expect(page.locator(".react-flow__node")).to_have_count(2)
    page.get_by_label("Table", exact=True).fill("half a na")
    with page.expect_response(re.compile("/panel/")):
        page.evaluate("document.dispatchEvent(new CustomEvent('flow:draft-changed', {detail: {origin: 'page'}}))")
    page.wait_for_timeout(300)
    expect(page.get_by_label("Table", exact=True)).to_have_value("half a na")
    expect(page.get_by_label("Table", exact=True)).to_be_focused()
