"""The shell in a browser: sign-in, theme, search, toasts, and checks that all its pages share."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.looks import Complaints, find_barriers, in_all_looks, show_as, sideways
from tests.browser.people import sign_in

pytestmark = pytest.mark.django_db(transaction=True)

SETTINGS = "/w/alices-team/settings/"
OUTSIDE = ("/login/", "/login/some-key/")
INSIDE = (SETTINGS, "/password/", "/nowhere/", "/w/alices-team/search/?q=e", "/docs/", "/docs/load-a-csv/", "/")


def expect_theme(page: Page, name: str) -> None:
    expect(page.locator("html")).to_have_attribute("data-bs-theme", name)


@in_all_looks
def test_no_page_has_barriers_or_complaints_or_scrolls_sideways(page: Page, colours: str, width: int) -> None:
    show_as(page, colours, width)
    complaints = Complaints(page)
    for address in OUTSIDE:
        page.goto(address)
        assert (find_barriers(page), sideways(page)) == ([], 0), address
    sign_in(page)
    for address in INSIDE:
        page.goto(address)
        assert (find_barriers(page), sideways(page)) == ([], 0), address
    assert [c for c in complaints if "404 (Not Found)" not in c] == []


def test_the_theme_follows_the_system_until_one_is_chosen(page: Page) -> None:
    sign_in(page)
    page.emulate_media(color_scheme="dark")
    expect_theme(page, "dark")

    page.get_by_role("button", name="admin@example.com").click()
    page.get_by_role("button", name="Light", exact=True).click()
    page.reload()
    expect_theme(page, "light")

    page.get_by_role("button", name="admin@example.com").click()
    page.get_by_role("button", name="System", exact=True).click()
    expect_theme(page, "dark")


def test_the_search_opens_by_keyboard_and_leads_to_a_page(page: Page) -> None:
    sign_in(page)
    page.keyboard.press("Control+k")
    dialog = page.get_by_role("dialog", name="Search")
    expect(dialog.get_by_role("link", name="Settings")).to_be_visible()

    page.keyboard.type("sett")
    expect(dialog.get_by_role("link", name="Runs")).to_have_count(0)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{SETTINGS}")


def test_who_is_quicker_than_the_page_is_answered_when_it_is_ready(page: Page) -> None:
    sign_in(page)
    # htmx begins to listen a moment after the page can be used.
    page.add_init_script("const later = setTimeout; window.setTimeout = (f, ms = 500, ...all) => later(f, ms, ...all)")
    page.reload(wait_until="domcontentloaded")
    page.keyboard.press("Control+k")

    expect(page.get_by_role("dialog", name="Search").get_by_role("link", name="Settings")).to_be_visible()


def test_escape_closes_the_search(page: Page) -> None:
    sign_in(page)
    page.keyboard.press("Control+k")
    page.keyboard.press("Escape")

    expect(page.get_by_role("dialog", name="Search")).to_be_hidden()


def test_a_result_is_reported_by_a_toast_that_disappears(page: Page) -> None:
    sign_in(page)
    page.goto(SETTINGS)
    page.get_by_label("E-mail").fill("carol@example.com")
    page.get_by_role("button", name="Add member").click()
    reported = page.get_by_text("carol@example.com added as Viewer.")

    expect(reported).to_be_visible()
    expect(reported).to_have_count(0, timeout=10_000)


def test_what_cannot_be_taken_back_asks_first(page: Page) -> None:
    sign_in(page, "viewer")
    page.goto("about:blank")  # the previous page polls, and a response may set cookies
    page.context.clear_cookies()
    sign_in(page)
    page.goto(SETTINGS)
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    page.get_by_role("button", name="Remove viewer@example.com").click()

    assert "lose access" in asked[0]
    page.reload()
    expect(page.get_by_role("button", name="Remove viewer@example.com")).to_be_visible()


def test_htmx_sends_the_csrf_token_with_every_change(page: Page) -> None:
    sign_in(page)
    sent = "document.body.insertAdjacentHTML('beforeend', '<button id=b hx-post={0} hx-swap=none>b</button>')"
    page.evaluate(sent.replace("{0}", f"{SETTINGS}tokens/"))
    page.evaluate("htmx.process(document.getElementById('b'))")
    with page.expect_response(f"**{SETTINGS}tokens/") as answer:
        page.evaluate("document.getElementById('b').click()")

    assert answer.value.status == 422


def test_trouble_of_a_fragment_is_reported_above_the_page_which_stays(page: Page) -> None:
    sign_in(page, "viewer")
    page.evaluate(f"htmx.ajax('POST', '{SETTINGS}tokens/', {{target: '#content', source: '#content'}})")

    expect(page.locator("#messages").get_by_role("alert")).to_contain_text("You need the role admin")
    expect(page.get_by_role("heading", name="Pipelines", exact=True)).to_be_visible()


def test_a_new_token_can_be_copied(page: Page) -> None:
    sign_in(page)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(SETTINGS)
    page.get_by_label("Name").fill("nightly")
    page.get_by_role("button", name="Create token").click()
    page.get_by_role("button", name="Copy token").click()

    expect(page.get_by_text("Copied.")).to_be_visible()
    assert re.fullmatch(r"[\w-]{43}", page.evaluate("navigator.clipboard.readText()"))


def test_everything_is_reached_without_a_mouse(page: Page) -> None:
    sign_in(page)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"


def test_a_question_mark_lists_the_shortcuts_of_the_page(page: Page) -> None:
    sign_in(page)
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")

    expect(dialog.get_by_text("Search pipelines, pages and actions")).to_be_visible()
    assert find_barriers(page, "#shortcuts") == []

    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.goto(SETTINGS)
    page.get_by_label("E-mail").press("?")
    expect(dialog).to_be_hidden()
