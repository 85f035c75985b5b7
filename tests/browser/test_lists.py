"""The list of pipelines: sorted, acted on in bulk, a favourite first, and a filter that is saved."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.looks import Complaints, find_misplaced
from tests.browser.people import sign_in

pytestmark = pytest.mark.django_db(transaction=True)
NAMES = ("Airlines", "Flights", "Orders")


@pytest.fixture
def pipelines(page: Page) -> Page:
    from flowapp.accounts.services import ensure_workspace
    from flowapp.pipelines.services import create_pipeline

    team = ensure_workspace("alices-team")
    for name in NAMES:
        create_pipeline(team, name.lower(), name)
    sign_in(page, "editor")
    return page


def listed(page: Page) -> list[str]:
    return page.locator("#pipelines tbody .flow-name a").all_inner_texts()


def test_a_list_is_sorted_selected_starred_and_filtered(pipelines: Page) -> None:
    page, complaints = pipelines, Complaints(pipelines)
    page.on("dialog", lambda dialog: dialog.accept())
    assert listed(page) == list(NAMES)
    page.get_by_role("columnheader", name="Pipeline").get_by_role("link").click()
    page.wait_for_url(re.compile("sort="))
    assert listed(page) == list(reversed(NAMES))

    page.get_by_role("checkbox", name="Select Airlines").check()
    page.get_by_role("checkbox", name="Select Orders").check()
    expect(page.get_by_role("status").filter(has_text="2 selected")).to_be_visible()
    assert find_misplaced(page) == []
    page.get_by_role("button", name="Disable", exact=True).click()
    expect(page.get_by_role("switch", name="Orders enabled")).to_have_attribute("aria-checked", "false")
    expect(page.get_by_role("switch", name="Flights enabled")).to_have_attribute("aria-checked", "true")

    star = page.get_by_role("button", name="Airlines is a favourite")
    star.click()
    expect(star).to_have_attribute("aria-pressed", "true")

    page.get_by_role("button", name="Saved filters").click()
    page.get_by_label("Save the current filter as").fill("Backwards")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("button", name="Backwards")).to_be_visible()
    page.goto("/w/alices-team/pipelines/")
    page.get_by_role("button", name="Saved filters").click()
    page.get_by_role("link", name="Backwards").click()
    page.wait_for_url(re.compile("sort="))
    assert sorted(listed(page)) == sorted(NAMES)
    assert complaints == []
