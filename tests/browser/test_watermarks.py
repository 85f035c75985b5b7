"""A watermark in a browser: from the editor's card to its page, set and reset by a person."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Page, expect

from tests.browser.looks import Complaints, find_barriers, in_all_looks, show_as, sideways
from tests.browser.people import sign_in
from tests.flowapp.conftest import make_document
from tests.flowapp.quarantine.keeping import connect_to
from tests.flowapp.watermarks.conftest import incremental_nodes, sql

pytestmark = pytest.mark.django_db(transaction=True)
__all__ = ["sql"]
EDITOR = "/w/alices-team/pipelines/numbers/?node=load"


@pytest.fixture
def following(warehouse, schema, sql):
    from flowapp.accounts.services import ensure_workspace
    from flowapp.pipelines.services import save_version

    sql("create table numbers (id int, upd timestamp not null)")
    workspace = connect_to(ensure_workspace("alices-team"), warehouse)
    return save_version(workspace, json.dumps(make_document(nodes=incremental_nodes(schema, watermarkLag="15m"))))


def change(page: Page, what: str, why: str, **fields: str) -> None:
    region = page.get_by_role("region", name=what, exact=True)
    for label, value in fields.items():
        region.get_by_label(label).fill(value)
    region.get_by_label("Reason (stored)").fill(why)
    region.get_by_role("button", name=what).click()


def test_a_person_finds_sets_and_resets_a_watermark(page: Page, following) -> None:
    complaints = Complaints(page)
    sign_in(page, "editor")
    page.goto(EDITOR)
    page.get_by_role("link", name="Watermark and history").click()
    expect(page.locator("#watermark-value")).to_have_text("no watermark")
    change(page, "Set the watermark", "loadedmanual until then", **{"Value of upd": "2026-01-01T10:00:00.123456"})
    expect(page.locator("#watermark-value")).to_have_text("2026-01-01 10:00:00.123456")
    change(page, "Reset the watermark", "start over")
    expect(page.locator("#watermark-value")).to_have_text("no watermark")
    expect(page.get_by_role("row")).to_have_count(3)
    assert complaints == []


def test_setting_a_watermark_that_may_load_rows_twice_asks_for_confirmation(page: Page, following, sql) -> None:
    sql("create function loud() returns trigger language plpgsql as $$begin return new; end$$")
    sql("create trigger loud before insert on numbers for each row execute function loud()")
    asked: list[str] = []
    page.on("dialog", lambda dialog: [asked.append(dialog.message), dialog.dismiss()])
    sign_in(page, "editor")
    page.goto("/w/alices-team/watermarks/numbers/load/")
    expect(page.get_by_role("alert")).to_contain_text("Rows may load a second time")
    assert find_barriers(page) == []
    region = page.get_by_role("region", name="Set the watermark", exact=True)
    region.get_by_label("Value of upd").fill("2026-01-01T10:00:00")
    region.get_by_role("button", name="What would the next run do?").click()
    expect(page.locator("#checked")).to_contain_text("It skips all lower rows.")
    assert (asked, find_barriers(page)) == ([], [])
    change(page, "Set the watermark", "again", **{"Value of upd": "2026-01-01"})
    assert "second time" in asked[0]
    expect(page.locator("#watermark-value")).to_have_text("no watermark")


@in_all_looks
def test_the_page_has_no_barriers_and_does_not_scroll_sideways(page: Page, following, colours: str, width: int) -> None:
    from flowapp.watermarks.services import set_watermark
    from flowapp.watermarks.targets import find_watermark_target

    target = find_watermark_target(following.pipeline, "load")
    for day in (1, 2):
        set_watermark(
            target,
            f"2026-01-0{day}T10:00:00.123456",
            "rows of that night were repaired at the source",
            "ann@x.org",
        )
    show_as(page, colours, width)
    sign_in(page)
    for address, part in ((EDITOR, "#node-watermark"), ("/w/alices-team/watermarks/numbers/load/", "html")):
        page.goto(address)
        page.wait_for_load_state("networkidle")
        assert (find_barriers(page, part), sideways(page)) == ([], 0)
