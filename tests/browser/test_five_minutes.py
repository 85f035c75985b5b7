"""The first five minutes of a new user: from a file on the desktop to a correct, scheduled load."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Page, expect
from psycopg import sql

from executors.model import Connection
from executors.postgres.client import connect
from tests.browser.hand import Hand
from tests.browser.looks import Complaints
from tests.browser.people import sign_in_by_link
from tests.browser.test_quarantine import work_off
from tests.flowapp.quarantine.keeping import connect_to

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.spark]
MOST_CLICKS, MOST_TYPED = 15, 5
"""From signing in to the first correct load."""
HEADER = "Auftrag-Nr;Kunde;Betrag;Bestellt am;Geliefert"
CUSTOMERS = ("Müller & Söhne", "Weiß GmbH", "Bäckerei; Köhler")
NO_AMOUNT, NO_DATE, NEGATIVE = 1070, 1120, 1200
"""The numbers of the bad orders: an amount that is no number, a day that does not exist, an amount below zero."""


class Order(NamedTuple):
    number: int
    customer: str
    amount: Decimal
    ordered: date
    delivered: datetime | None

    def write(self) -> str:
        """As a spreadsheet of a German Windows writes it: decimal commas, and two ways to write a day."""
        amount = f"{self.amount:,.2f}".translate(str.maketrans(",.", ".,"))
        delivered = "" if self.delivered is None else f"{self.delivered:%Y-%m-%d %H:%M}"
        return ";".join((str(self.number), f'"{self.customer}"', amount, f"{self.ordered:%d.%m.%Y}", delivered))


def make_order(number: int) -> Order:
    day = number % 28 + 1
    delivered = datetime(2026, 2, day, 8, number % 60) if number % 5 else None
    amount = Decimal(number * number % 2_000_000 + 7) / 100
    return Order(number, CUSTOMERS[number % 3], amount, date(2025, 12, day), delivered)


ORDERS = {number: make_order(number) for number in range(1001, 1241)}


@pytest.fixture
def desktop(tmp_path: Path) -> Path:
    """A Windows-1252 file of 240 orders, three of them bad."""
    lines = {number: order.write() for number, order in ORDERS.items()}
    lines[NO_AMOUNT] = '1070;"Weiß GmbH";k. A.;07.12.2025;'
    lines[NO_DATE] = '1120;"Müller & Söhne";7,25;31.02.2026;'
    lines[NEGATIVE] = '1200;"Müller & Söhne";-14,40;25.12.2025;'
    path = tmp_path / "Aufträge 2026-02.csv"
    path.write_bytes("\r\n".join((HEADER, *lines.values())).encode("cp1252"))
    return path


@pytest.fixture(scope="module")
def spark() -> Iterator[None]:
    """Start the session of a worker before the user's first action."""
    from executors.spark import session

    session.get_session("inline")
    yield
    session.stop_session()


@pytest.fixture
def team(transactional_db: None, warehouse: Connection) -> None:
    from flowapp.accounts.services import ensure_workspace

    connect_to(ensure_workspace("alices-team"), warehouse)


@pytest.fixture
def loaded_orders(warehouse: Connection, schema: str) -> Any:
    """Return the rows of the table by order number: the five columns of the file."""

    def read() -> dict[int, tuple[Any, ...]]:
        query = sql.SQL("SELECT auftrag_nr, kunde, betrag, bestellt_am, geliefert FROM {}")
        with connect(warehouse) as session:
            return {
                row[0]: row for row in session.execute(query.format(sql.Identifier(schema, "auftraege"))).fetchall()
            }

    return read


@pytest.mark.slow
def test_a_file_is_loaded_its_rejected_row_fixed_and_its_loads_scheduled(
    page: Page, spark: None, team: None, desktop: Path, schema: str, loaded_orders: Any
) -> None:
    hand, complaints = Hand(), Complaints(page)
    page.on("dialog", lambda dialog: dialog.accept())
    sign_in_by_link(page, "editor")
    hand.clicks += 1
    create_from_file(page, hand, desktop, schema)
    add_rule(page, hand)
    run_draft(page, hand)

    assert (hand.clicks <= MOST_CLICKS, hand.typed <= MOST_TYPED) == (True, True), (hand.clicks, hand.typed)
    good = {number: tuple(order) for number, order in ORDERS.items() if number not in (NO_AMOUNT, NO_DATE, NEGATIVE)}
    assert loaded_orders() == good

    fix_rejected_row(page)
    fixed = (NEGATIVE, "Müller & Söhne", Decimal("14.40"), date(2025, 12, 25), None)
    assert loaded_orders() == {**good, NEGATIVE: fixed}

    schedule(page)
    assert complaints == []


def create_from_file(page: Page, hand: Hand, file: Path, schema: str) -> None:
    hand.click(page.get_by_role("link", name="New pipeline").first)
    hand.choose_file(page.get_by_label("Start from a file"), file)
    expect(page.get_by_role("heading", name="Pipeline from auftraege")).to_be_visible()
    expect(page.get_by_label("Delimiter")).to_have_value(";")
    expect(page.get_by_label("Encoding")).to_have_value("cp1252")
    expect(page.get_by_text("is not a number: 'k. A.'")).to_be_visible()
    expect(page.get_by_label("upsert")).to_be_checked()
    expect(page.get_by_label("Auftrag-Nr is part of the key")).to_be_checked()
    with page.expect_response(re.compile("/file/")):
        hand.type(page.get_by_label("Schema"), schema)
    hand.click(page.get_by_role("button", name="Create pipeline"))
    page.wait_for_url("**/pipelines/auftraege/")


def add_rule(page: Page, hand: Hand) -> None:
    """The amount must not be below zero."""
    hand.click(page.locator(".react-flow__node[data-id=check]"))
    hand.choose(page.get_by_label("Kind to add to Rules"), "range")
    hand.click(page.get_by_role("button", name="Add to Rules"))
    rule = page.get_by_role("group", name=re.compile("^Rules 2: range"))
    hand.type(rule.get_by_label("Column", exact=True), "betrag")
    hand.type(rule.get_by_label("Minimum", exact=True), "0")
    expect(rule.get_by_label("Minimum", exact=True)).to_have_value("0")
    expect(rule.get_by_label("On fail")).to_have_value("skip")


def run_draft(page: Page, hand: Hand) -> None:
    hand.click(page.get_by_role("button", name="Run", exact=True))
    hand.click(page.get_by_role("button", name="Save and run"))
    page.wait_for_url("**/runs/*/")
    work_off()
    expect(page.locator(".equation")).to_contain_text("read 240 = loaded 237 + rejected 3")


def fix_rejected_row(page: Page) -> None:
    page.get_by_role("link", name="rejected 3").click()
    page.get_by_role("row").filter(has_text="-14,40").get_by_role("link", name="Show").click()
    expect(page.locator(".failing-field")).to_contain_text("Betrag")
    page.get_by_role("button", name="Fix, replay or ignore").click()
    page.get_by_label(re.compile("^Betrag in record 200")).fill("14,40")
    page.get_by_role("button", name="Save changes").click()
    page.get_by_role("button", name="Replay 1 row").click()
    page.wait_for_url("**/runs/*/")
    work_off()
    expect(page.get_by_text("1 loaded", exact=False).first).to_be_visible()


def schedule(page: Page) -> None:
    page.goto("/w/alices-team/pipelines/auftraege/?tab=schedule")
    page.get_by_label("Runs", exact=True).select_option("daily")
    page.get_by_label("At", exact=True).fill("06:30")
    page.get_by_label("At", exact=True).press("Tab")
    expect(page.get_by_role("list").filter(has_text="06:30").get_by_role("listitem")).to_have_count(3)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text(re.compile("Version 3 runs next"))).to_be_visible()
