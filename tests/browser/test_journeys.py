"""One person's whole way on the real services: connection, file, pipeline, a missing key, a run, its rejected rows."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from executors.model import Connection
from tests.browser.looks import Complaints
from tests.browser.people import sign_in_by_link
from tests.databases import connect_to

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.spark]
HERE = "/w/alices-team"
PATIENCE = 120_000
"""Milliseconds to wait for slow steps, such as a worker that starts Spark."""
GOOD = "id,name\n1,Ada\n2,\n3,Grace\n"
BAD = "number,name\n4,Edsger\n"


@pytest.fixture
def patient(page: Page) -> Page:
    page.set_default_timeout(PATIENCE)
    return page


@pytest.fixture
def worker(process_environment: dict[str, str]) -> Iterator[None]:
    """The worker as `flow up` starts it, with Spark."""
    command = [sys.executable, "-m", "celery", "-q", "-A", "flowapp.celery", "worker", "--loglevel", "WARNING"]
    with subprocess.Popen(command, env=process_environment, start_new_session=True) as process:
        yield
        os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture
def table(warehouse: Connection, schema: str) -> str:
    """The name of an empty table of people, which has a key."""
    with connect_to(warehouse) as connection:
        connection.execute(f"CREATE TABLE {schema}.people (id integer PRIMARY KEY, name text)")
    return f"{schema}.people"


def fill(page: Page, label: str, value: str) -> None:
    """Type into a field of a node's form, leave it, and wait until the server has it."""
    field = page.get_by_label(label, exact=True)
    field.fill(value)
    with page.expect_response(re.compile("/form/")):
        field.press("Tab")


def settled(page: Page, words: str) -> None:
    expect(page.locator("#flow-count")).to_contain_text(words, timeout=PATIENCE)


def add_connection(page: Page, warehouse: Connection) -> None:
    page.goto(f"{HERE}/connections/")
    page.get_by_role("link", name="Add a connection").first.click()
    page.get_by_role("link", name="PostgreSQL").click()
    page.get_by_label("Name").fill("warehouse")
    values = {
        "Host": warehouse.host,
        "Port": str(warehouse.port),
        "Database": warehouse.database,
        "User": warehouse.user,
        "Password": warehouse.password,
    }
    for label, value in values.items():
        page.get_by_label(label, exact=True).fill(value)
    page.get_by_role("button", name="Add connection").click()
    expect(page.get_by_role("heading", name="Connection warehouse")).to_be_visible()
    page.get_by_role("button", name="Test now").click()
    expect(page.locator("#connection-test")).to_contain_text("PostgreSQL 1", timeout=PATIENCE)


def upload(page: Page, folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    page.goto(f"{HERE}/files/upload/")
    page.get_by_label("File", exact=True).set_input_files(folder / name)
    page.get_by_label("Folder").fill("people")
    page.get_by_role("button", name="Upload").click()
    expect(page.locator("#toasts, #messages").filter(has_text=name)).to_be_visible()


def build(page: Page, schema: str) -> None:
    """By forms alone: source, validate with one rule and a table for rejected rows, target with upsert."""
    page.goto(f"{HERE}/new-pipeline/blank/")
    page.get_by_label("ID", exact=True).fill("people")
    page.get_by_label("Name", exact=True).fill("People")
    page.get_by_role("button", name="Create and open").click()
    add_node(page, "source", "source")
    fill(page, "Folder", "people")
    add_node(page, "validate", "check")
    page.locator("#node-inputs").select_option("source")
    rules = page.get_by_role("group", name=re.compile("^Rules"))
    rules.get_by_label("Kind to add to Rules").select_option("notNull")
    rules.get_by_role("button", name="Add to Rules").click()
    rule = page.get_by_role("group", name="Rules 1: notNull")
    with page.expect_response(re.compile("/form/")):
        rule.locator("input[id$=_2f_field]").fill("name")
        rule.locator("input[id$=_2f_field]").press("Tab")
    with page.expect_response(re.compile("/form/")):
        rule.locator("select[id$=_2f_onFail]").select_option("skip")
    page.locator("input[id$=quarantine_2f_enabled]").check()
    with page.expect_response(re.compile("/form/")):
        page.locator("input[id$=quarantine_2f_table]").fill(f"{schema}.rejected")
        page.locator("input[id$=quarantine_2f_table]").press("Tab")
    add_node(page, "target", "load")
    page.locator("#node-inputs").select_option("check")
    fill(page, "Schema", schema)
    fill(page, "Table", "people")
    settled(page, "no errors")


def add_node(page: Page, kind: str, ident: str) -> None:
    page.locator("#outline-settings").click()
    page.locator(f"#add-{kind}").click()
    expect(page.locator("#flow-panel")).to_have_attribute("data-node", ident)


def be_stopped_and_fix(page: Page) -> None:
    """The missing key is reported at the mode's card, on the canvas and in the text; nothing is saved until it is
    set."""
    page.locator("#mode-upsert").check()
    settled(page, "1 error")
    expect(page.locator(".flow-mode-fields")).to_contain_text('upsert needs a key in "Key columns"')
    expect(page.locator(".react-flow__node[data-id=load] .flow-badge-error")).to_be_visible()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("#messages")).to_contain_text('"Key columns"')
    expect(page.locator("#flow-title")).to_contain_text("not saved yet")

    page.get_by_role("link", name="JSON", exact=True).click()
    expect(page.locator(".flow-json-status")).to_contain_text("error")
    wrong = page.locator(".cm-lintRange-error").first
    expect(wrong).to_be_visible()
    wrong.hover()
    expect(page.locator(".cm-tooltip")).to_contain_text("upsert needs a key in upsertKey")

    page.get_by_role("button", name="Set Key columns to id").first.click()
    settled(page, "no errors")
    page.locator(".cm-content").press("Control+End")
    expect(page.locator(".cm-content")).to_contain_text('"upsertKey"')
    page.locator("#flow-save-more").click()
    page.locator("#flow-message").fill("The first")
    page.get_by_role("button", name="Save with this message").click()
    expect(page.locator("#flow-title")).to_contain_text("v1")


def run(page: Page) -> None:
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_url(re.compile("/runs/"))


def follow_to_the_rejected_row(page: Page) -> None:
    """The page follows the run by itself."""
    expect(page.locator(".equation")).to_contain_text("read 3 = loaded 2 + rejected 1 + filtered 0", timeout=PATIENCE)
    expect(page.get_by_text("Loaded rows: 2 inserted")).to_be_visible()
    page.get_by_role("link", name="rejected 1", exact=True).click()
    page.get_by_role("link", name=re.compile(r"good\.csv record 2")).click()
    expect(page.get_by_role("heading", name="Rejected row")).to_be_visible()
    expect(page.locator(".failing-field")).to_contain_text("name")
    expect(page.locator("#values").locator("xpath=../..")).to_contain_text("2")
    expect(page.locator("[aria-labelledby=place]").first).to_contain_text("good.csv")


def fail_and_acknowledge(page: Page, folder: Path) -> None:
    """A file without the key: the run reports it, and a user acknowledges the alert."""
    upload(page, folder, "bad.csv", BAD)
    page.goto(f"{HERE}/pipelines/people/")
    run(page)
    expect(page.get_by_role("status").filter(has_text=re.compile("failed", re.I))).to_be_visible(timeout=PATIENCE)
    page.goto(f"{HERE}/health/")
    page.get_by_role("button", name="Acknowledge run.failed").click()
    expect(page.locator("#health-now")).to_contain_text("acknowledged")


def test_from_nothing_to_a_rejected_row(
    patient: Page, worker: None, warehouse: Connection, schema: str, table: str, tmp_path: Path
) -> None:
    page, complaints = patient, Complaints(patient)
    sign_in_by_link(page)
    add_connection(page, warehouse)
    upload(page, tmp_path, "good.csv", GOOD)
    build(page, schema)
    be_stopped_and_fix(page)
    run(page)
    follow_to_the_rejected_row(page)
    fail_and_acknowledge(page, tmp_path)
    # The one that refused to save.
    assert [complaint for complaint in complaints if "422" not in complaint] == []
