"""Suggestions on a draft that was never saved, and the way back to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from executors.model import Connection
from tests.browser.looks import Complaints, find_barriers, show_as, sideways
from tests.browser.people import sign_in
from tests.browser.test_quarantine import work_off
from tests.flowapp.quarantine.keeping import connect_to

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.spark]


@pytest.fixture
def editor(page: Page, settings: Any, tmp_path: Path, warehouse: Connection) -> Page:
    """The editor of a new pipeline, and a folder `in` with a file."""
    from flowapp.accounts.services import ensure_workspace
    from flowapp.pipelines.services import create_pipeline

    sign_in(page, "editor")
    settings.FILES_ROOT = tmp_path
    folder = tmp_path / "alices-team" / "in"
    folder.mkdir(parents=True)
    (folder / "people.csv").write_text("id,name\n" + "".join(f"{n},Name{n}\n" for n in range(1, 61)))
    create_pipeline(connect_to(ensure_workspace("alices-team"), warehouse), "people", "People")
    page.goto("/w/alices-team/pipelines/people/")
    return page


def add(page: Page, kind: str, ident: str) -> None:
    page.locator("#outline-settings").click()
    page.locator(f"#add-{kind}").click()
    expect(page.locator("#flow-panel")).to_have_attribute("data-node", ident)


def test_rules_are_suggested_for_a_draft_and_put_into_it(editor: Page) -> None:
    complaints = Complaints(editor)
    add(editor, "source", "source")
    editor.get_by_label("Folder", exact=True).fill("in")
    editor.get_by_label("Folder", exact=True).press("Tab")
    expect(editor.locator("#flow-canvas")).to_contain_text("in/*.csv")
    add(editor, "validate", "check")
    editor.get_by_role("link", name="Suggest and try rules").click()
    expect(editor.get_by_role("heading", name="No samples yet")).to_be_visible()
    editor.get_by_role("button", name="Sample the source").click()
    expect(editor.get_by_text("reads a sample of the source, as a draft has it")).to_be_visible()
    work_off()
    editor.get_by_role("button", name="Add rule notNull on id").click()
    expect(editor.get_by_text("Added to your draft of people.")).to_be_visible()
    for colours, width in (("light", 1280), ("dark", 768), ("light", 390)):
        show_as(editor, colours, width)
        assert find_barriers(editor) == []
        assert sideways(editor) <= 0
    editor.get_by_role("link", name="Back to the editor").click()
    expect(editor.locator(".react-flow__node[data-id=check]")).to_contain_text("1 row rule")
    assert list(complaints) == []


def test_browser_back_shows_the_draft_with_all_its_nodes(editor: Page) -> None:
    add(editor, "validate", "check")
    editor.get_by_role("link", name="Suggest and try rules").click()
    expect(editor.get_by_text("check reads from no source yet.")).to_be_visible()
    assert find_barriers(editor) == []
    editor.go_back()
    expect(editor.locator(".react-flow__node[data-id=check]")).to_be_visible()
    expect(editor.locator(".flow-outline")).to_contain_text("check")
    editor.go_forward()
    editor.get_by_role("link", name="Back to the editor").first.click()
    expect(editor.locator("#flow-panel")).to_have_attribute("data-node", "check")
