"""The pages that start a pipeline from a file, and files that are dropped on a page."""

from __future__ import annotations

import gzip
import io
import os
import re
from pathlib import Path

import fastavro
import openpyxl
import pytest
from playwright.sync_api import Page, expect

from executors.model import Connection
from tests.browser.looks import Complaints, find_barriers, in_all_looks, show_as, sideways
from tests.browser.people import sign_in
from tests.flowapp.quarantine.keeping import connect_to

pytestmark = pytest.mark.django_db(transaction=True)
HERE = "/w/alices-team"
ORDERS = """\
Auftrag-Nr;Kunde;Betrag;Bestellt am;Geliefert
1001;Müller & Söhne;1.234,50;31.12.2025;2026-01-02 08:30
1002;Weiß GmbH;7,25;01.02.2026;2026-02-03 17:05
1003;"Bäckerei; Köhler";12.000,00;28.02.2026;
"""
"""As a spreadsheet of a German Windows writes it: Windows-1252, decimal commas, two date formats."""


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    path = tmp_path / "Aufträge 2026-02.csv"
    path.write_bytes(ORDERS.encode("cp1252"))
    return path


@pytest.fixture
def connected(page: Page, warehouse: Connection) -> Page:
    from flowapp.accounts.services import ensure_workspace

    sign_in(page, role="editor")
    connect_to(ensure_workspace("alices-team"), warehouse)
    return page


def choose(page: Page, file: Path) -> None:
    page.goto(f"{HERE}/new-pipeline/")
    page.get_by_label("Start from a file").set_input_files(file)
    page.wait_for_url(re.compile("/file/"))


def test_what_follows_from_the_columns_follows_another_delimiter(connected: Page, orders: Path) -> None:
    page = connected
    choose(page, orders)
    page.get_by_label("Delimiter").select_option(",")
    expect(page.get_by_label("append")).to_be_checked()
    page.get_by_label("Delimiter").select_option(";")
    expect(page.get_by_label("Type of Betrag")).to_have_value("decimal(18,2)")
    expect(page.get_by_label("upsert")).to_be_checked()


DROP = """(form, text) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([text], "Dropped.csv"));
    for (const type of ["dragover", "drop"])
        form.dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer }));
}"""


def drop(page: Page, text: str) -> None:
    page.locator("form[data-drop]").evaluate(DROP, text)


def test_a_file_that_is_dropped_on_a_new_pipeline_is_read_at_once(connected: Page) -> None:
    page, complaints = connected, Complaints(connected)
    page.goto(f"{HERE}/new-pipeline/")
    drop(page, "id,name\n1,Ann\n2,Bob\n")
    expect(page.get_by_role("heading", name="Pipeline from dropped/Dropped.csv")).to_be_visible()
    assert complaints == []


def test_a_file_that_is_dropped_on_the_upload_waits_for_its_folder(connected: Page) -> None:
    page, complaints = connected, Complaints(connected)
    page.goto(f"{HERE}/files/upload/")
    drop(page, "id,name\n3,Cy\n")
    page.get_by_label("Folder", exact=True).fill("people")
    page.get_by_role("button", name="Upload", exact=True).click()
    expect(page.get_by_text("people/Dropped.csv").first).to_be_visible()
    assert complaints == []


@in_all_looks
def test_the_pages_are_for_everybody(connected: Page, orders: Path, colours: str, width: int) -> None:
    """With values that do not fit, and with the page of the file."""
    page, complaints = connected, Complaints(connected)
    show_as(page, colours, width)
    page.goto(f"{HERE}/new-pipeline/")
    assert (find_barriers(page), sideways(page)) == ([], 0)
    choose(page, orders)
    page.get_by_label("Type of Kunde").select_option("date")
    expect(page.locator(".flow-misfit")).to_have_count(3)
    assert (find_barriers(page), sideways(page)) == ([], 0)
    page.goto(f"{HERE}/files/")
    page.get_by_role("link", name=re.compile("^auftraege")).first.click()
    expect(page.get_by_role("heading", name="Detected settings")).to_be_visible()
    assert (find_barriers(page), sideways(page)) == ([], 0)
    assert complaints == []


def of_format(name: str) -> bytes:
    """Return two rows in the format of a file name."""
    rows = [{"id": 1, "name": "Žižek"}, {"id": 2, "name": "Bob"}]
    out = io.BytesIO()
    if name.endswith(".xlsx"):
        book = openpyxl.Workbook()
        book.active.append(["notes"])
        sheet = book.create_sheet("People")
        for row in (["id", "name"], *([*one.values()] for one in rows)):
            sheet.append(row)
        book.save(out)
    elif name.endswith(".avro"):
        fields = [{"name": "id", "type": "long"}, {"name": "name", "type": "string"}]
        fastavro.writer(out, fastavro.parse_schema({"type": "record", "name": "r", "fields": fields}), rows)
    elif name.endswith(".gz"):
        out.write(gzip.compress("id,name\n1,Žižek\n2,Bob\n".encode()))
    else:
        out.write("id   name \n   1 Žižek\n   2 Bob  \n".encode())
    return out.getvalue()


@pytest.mark.slow
@in_all_looks
@pytest.mark.parametrize("name", ["a.xlsx", "a.avro", "a.csv.gz", "a.txt"])
def test_a_file_of_every_format_becomes_a_pipeline(
    connected: Page, tmp_path: Path, colours: str, width: int, name: str
) -> None:
    page, complaints = connected, Complaints(connected)
    show_as(page, colours, width)
    (tmp_path / name).write_bytes(of_format(name))
    choose(page, tmp_path / name)
    if name == "a.xlsx":
        page.get_by_label("Sheet").fill("Third")
        page.get_by_label("Sheet").press("Tab")
        expect(page.get_by_role("alert")).to_contain_text("it has 'Sheet', 'People'")
        page.get_by_label("Sheet").fill("People")
        page.get_by_label("Sheet").press("Tab")
    expect(page.get_by_label("Type of id")).to_be_visible()
    expect(page.get_by_text("Žižek").first).to_be_visible()
    assert (find_barriers(page), sideways(page)) == ([], 0)
    if folder := os.environ.get("FLOW_TEST_SHOTS"):
        page.screenshot(path=f"{folder}/{name}-{colours}-{width}.png", full_page=True)
    assert complaints == []
