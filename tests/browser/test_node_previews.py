"""The preview below the canvas: rows of the selected node, results of its rules, and edits at a column."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from executors.model import Connection
from tests.browser.looks import Complaints, find_barriers, in_all_looks, show_as, sideways
from tests.browser.people import sign_in
from tests.flowapp.conftest import make_document
from tests.flowapp.quarantine.keeping import connect_to

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.spark]
ROWS = "".join(f"{n},{'' if n % 7 == 0 else f'Name{n}'},{n * 1.5}\n" for n in range(1, 41))


@pytest.fixture(scope="session")
def spark() -> Iterator[None]:
    from executors.spark import session

    session.get_session("inline")
    yield
    session.stop_session()


@pytest.fixture
def editor(page: Page, settings: Any, tmp_path: Path, warehouse: Connection, spark: None) -> Page:
    """The editor of a pipeline that was never saved: files → check (name must not be empty) → load."""
    from flowapp.accounts.models import User
    from flowapp.accounts.services import ensure_workspace
    from flowapp.node_previews.store import take
    from flowapp.pipelines.drafts import open_draft, replace_text
    from flowapp.pipelines.services import create_pipeline
    from ir.json_edits import write_json

    while take(seconds=1):  # previews that the forms of other tests have requested
        pass
    sign_in(page, "editor")
    settings.FILES_ROOT = tmp_path
    folder = tmp_path / "alices-team" / "in"
    folder.mkdir(parents=True)
    (folder / "people.csv").write_text("id,name,amount\n" + ROWS)
    source, load = make_document("people")["nodes"]
    rules = [{"type": "notNull", "field": "name", "onFail": "skip"}]
    check = {"id": "check", "kind": "validate", "inputs": ["files"], "rowLevel": rules}
    document = make_document("people", nodes=[source, check, {**load, "inputs": ["check"]}])
    pipeline = create_pipeline(connect_to(ensure_workspace("alices-team"), warehouse), "people", "People")
    replace_text(open_draft(pipeline, User.objects.get(email="editor@example.com")), write_json(document))
    page.goto("/w/alices-team/pipelines/people/")
    return page


def make_preview() -> None:
    """Make the preview that the page has requested, like a worker."""
    from flowapp.node_previews.executing import execute
    from flowapp.node_previews.store import take

    preview = next(filter(None, (take(seconds=5) for _ in range(6))))
    execute(preview)


def make_previews() -> None:
    """Make all previews that the page asks for, until it asks for none for a while."""
    from flowapp.node_previews.executing import execute
    from flowapp.node_previews.store import take

    while preview := take(seconds=2):
        execute(preview)


def select(page: Page, node: str) -> None:
    page.locator(".flow-outline").get_by_role("link", name=node, exact=True).click()
    expect(page.locator("#flow-panel")).to_have_attribute("data-node", node)


def open_preview(page: Page, node: str) -> None:
    """Open the panel, with the rows of a node."""
    select(page, node)
    page.get_by_role("button", name="Preview").click()
    make_preview()
    expect(page.locator("#node-preview-result")).to_have_attribute("data-node", node)


def test_rows_are_previewed_before_any_save_and_a_column_edits_the_draft(editor: Page) -> None:
    complaints = Complaints(editor)
    open_preview(editor, "check")
    expect(editor.locator("#node-preview-state")).to_contain_text("40 rows in, 35 out, 5 rejected")
    expect(editor.locator("#node-preview-result tbody tr").nth(6)).to_contain_text("Rejected")

    editor.get_by_role("button", name="amount").click()
    menu = editor.locator("#node-preview-menu")
    menu.get_by_label("New name").fill("price")
    menu.get_by_label("New name").press("Enter")
    expect(menu).to_be_hidden()
    expect(editor.locator("#flow-canvas")).to_contain_text("transform")
    make_preview()
    expect(editor.get_by_role("button", name="price")).to_be_visible()

    editor.reload()
    expect(editor.locator("#node-preview-content")).to_be_visible()
    assert complaints == []


def test_each_rule_says_what_it_would_do_and_leads_to_its_failing_rows(editor: Page) -> None:
    complaints = Complaints(editor)
    select(editor, "check")
    line = editor.locator("[data-rule-count]").first
    expect(line).to_contain_text("Counting rejected rows in a sample")
    make_preview()
    expect(line).to_contain_text(re.compile(r"Would reject 5 of 40 sampled rows\.\s*All 40 rows of in/people\.csv\."))
    rule = editor.get_by_role("group", name="Rules 1: notNull")
    rule.locator("input[id$=_2f_field]").press_sequentially("x")
    expect(line).to_contain_text("Out of date")
    rule.locator("input[id$=_2f_field]").fill("name")
    rule.locator("select[id$=_2f_onFail]").select_option("warn")
    make_preview()
    expect(line).to_contain_text("Would warn of 5 of 40 sampled rows.")
    for colours, width in (("light", 1280), ("dark", 390)):
        show_as(editor, colours, width)
        assert find_barriers(editor, "#flow-panel") == []
        assert sideways(editor) <= 0
    line.get_by_role("button", name="Show failing rows").click()
    make_preview()
    expect(editor.locator("#node-preview-result tbody tr")).to_have_count(5)

    editor.get_by_role("button", name="amount").click()
    editor.locator("#node-preview-menu").get_by_role("button", name="Add rule").click()
    expect(editor.get_by_role("group", name="Rules 2: ").locator(":focus")).to_be_visible()
    make_preview()
    assert complaints == []


def test_a_preview_that_waits_can_be_cancelled(editor: Page) -> None:
    complaints = Complaints(editor)
    open_preview(editor, "check")
    cancel = editor.get_by_role("button", name="Cancel", exact=True)
    expect(cancel).to_be_hidden()
    editor.get_by_role("button", name="Refresh").click()
    cancel.click()
    expect(editor.locator("#node-preview-state")).to_contain_text("The preview was cancelled.")
    expect(cancel).to_be_hidden()
    expect(editor.locator("#node-preview-result tbody")).to_have_count(0)
    expect(editor.locator("[data-rule-count]").first).to_contain_text("Not counted. The preview was cancelled.")
    assert complaints == []


def test_the_answer_to_a_new_request_follows_a_state_that_was_replaced_while_it_arrived(editor: Page) -> None:
    complaints = Complaints(editor)
    open_preview(editor, "check")
    editor.get_by_role("button", name="Refresh").click()
    expect(editor.locator("#node-preview-state")).to_have_attribute("aria-busy", "true")
    # The response arrives after the state that it replaces was removed.
    editor.evaluate("""() => {
        const text = Response.prototype.text;
        const form = document.getElementById("node-preview-form");
        const state = document.getElementById("node-preview-state");
        let arrived = false;
        Response.prototype.text = async function () {
            const isNew = this.url.endsWith(form.getAttribute("hx-post"));
            arrived ||= isNew;
            while (isNew ? state.isConnected : !arrived) await new Promise((done) => setTimeout(done, 10));
            return text.call(this);
        };
        htmx.trigger(form, "preview");
    }""")
    make_previews()
    expect(editor.locator("#node-preview-state")).to_contain_text("40 rows in, 35 out, 5 rejected")
    assert complaints == []


def test_the_height_is_changed_by_the_keyboard_and_remembered(editor: Page) -> None:
    editor.get_by_role("button", name="Preview").click()
    resizer, content = (
        editor.get_by_role("separator", name="Height of the preview"),
        editor.locator("#node-preview-content"),
    )
    before = content.bounding_box()["height"]
    resizer.press("ArrowUp")
    assert content.bounding_box()["height"] > before
    resizer.press("Home")
    expect(resizer).to_have_attribute("aria-valuenow", "120")
    editor.reload()
    expect(resizer).to_have_attribute("aria-valuenow", "120")


@in_all_looks
def test_the_panel_can_be_used_by_all(editor: Page, colours: Any, width: int) -> None:
    show_as(editor, colours, width)
    open_preview(editor, "check")
    assert find_barriers(editor) == []
    assert sideways(editor) <= 0
    editor.get_by_role("button", name="amount").click()
    assert find_barriers(editor, "#node-preview-menu") == []
