"""Rules and checks in the editor: built in the form, read in the SQL tab, without barriers."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from executors.model import Connection
from tests.browser.looks import Complaints, find_barriers, in_all_looks, show_as, sideways
from tests.browser.people import sign_in
from tests.flowapp.quarantine.keeping import connect_to
from tests.ir.cases import document

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def editor(page: Page, warehouse: Connection) -> Page:
    """The editor of a pipeline with every rule and every check, as an editor sees it."""
    from flowapp.accounts.services import ensure_workspace
    from flowapp.pipelines.services import save_version

    workspace = connect_to(ensure_workspace("alices-team"), warehouse)
    made = document("every-rule")
    check = next(node for node in made["nodes"] if node["kind"] == "validate")
    other = document("every-check")
    check["datasetLevel"] = next(node for node in other["nodes"] if node["kind"] == "validate")["datasetLevel"]
    save_version(workspace, json.dumps(made))
    sign_in(page)
    return page


def address(tab: str = "visual") -> str:
    return f"/w/alices-team/pipelines/orders/?tab={tab}&node=check"


@in_all_looks
def test_every_rule_and_check_is_shown_without_barriers(editor: Page, colours: str, width: int) -> None:
    show_as(editor, colours, width)
    complaints = Complaints(editor)
    for tab in ("visual", "sql"):
        editor.goto(address(tab))
        heading = editor.get_by_text("Row rules") if tab == "visual" else editor.get_by_text("SQL of the checks")
        expect(heading.first).to_be_visible()
        _picture(editor, f"{tab}-{colours}-{width}")
        assert find_barriers(editor) == []
        assert sideways(editor) <= 0
    assert list(complaints) == []


def _picture(page: Page, name: str) -> None:
    if folder := os.environ.get("FLOW_TEST_PICTURES"):
        page.screenshot(path=str(Path(folder) / f"rules-{name}.png"), full_page=True)


def test_a_rule_with_a_list_a_condition_and_a_limit_is_built_in_the_form(editor: Page) -> None:
    editor.goto(address())
    editor.get_by_label("Kind to add to Rules").select_option("notOneOf")
    editor.get_by_role("button", name="Add to Rules").click()
    rule: Any = editor.get_by_role("group", name=re.compile(r"^Rules 15:"))
    _type(rule.get_by_label("Column", exact=True), "customer")
    expect(rule).to_have_accessible_name("Rules 15: notOneOf customer")
    _type(rule.get_by_label("Values: add one"), "7")
    expect(rule.get_by_label("Values 1")).to_have_value("7")
    _type(rule.get_by_label("Values: add one"), '"7"')
    expect(rule.get_by_label("Values 2")).to_have_value('"7"')
    rule.get_by_label("On fail").select_option("skip")
    rule.get_by_text("Condition and limits").click()
    _type(rule.get_by_label("Condition"), "total > 0")
    expect(rule.get_by_label("Condition")).to_have_value("total > 0")
    _type(rule.get_by_label("Fail if violations exceed (rows)", exact=True), "5")
    expect(editor.get_by_text("no errors")).to_be_visible()
    editor.get_by_role("link", name="SQL", exact=True).click()  # sends the edits that still wait
    expect(editor.get_by_text("notOneOf of customer: when")).to_be_visible()


def _type(field: Any, text: str) -> None:
    """Type like a user, who then moves to the next field."""
    field.fill(text)
    field.press("Tab")
