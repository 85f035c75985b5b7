"""Channels, "Where did my row go?" and suggestions in a browser."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from executors.load_record import RunRef
from executors.postgres.client import connect
from executors.postgres.meta import ensure_meta
from executors.postgres.samples import keep_source_sample
from flowapp.clock import Now
from tests.browser.looks import Complaints, find_barriers, in_all_looks, show_as, sideways
from tests.browser.people import sign_in
from tests.flowapp.channels.mail_server import serving
from tests.flowapp.conftest import make_document
from tests.flowapp.quarantine.keeping import connect_to
from tests.receivers import make_certificates

pytestmark = pytest.mark.django_db(transaction=True)
HERE = "/w/alices-team"
ROWS = [{"id": n, "colour": ("red", "green")[n % 2], "day": f"2026-01-{n % 28 + 1:02}"} for n in range(60)]


@pytest.fixture
def pipeline(warehouse, schema):
    """files → check → load, with a loaded row that has origin columns, a sample and an alert."""
    from flowapp.accounts.services import ensure_workspace
    from flowapp.alerts.services import raise_alert
    from flowapp.pipelines.services import save_version
    from flowapp.runs.models import Trigger
    from flowapp.runs.services import queue_run

    team = connect_to(ensure_workspace("alices-team"), warehouse)
    source, load = make_document(schema=schema)["nodes"]
    check = {
        "id": "check",
        "kind": "validate",
        "inputs": ["files"],
        "rowLevel": [{"type": "range", "field": "id", "max": 50, "onFail": "warn"}],
    }
    document = make_document(schema=schema, nodes=[source, check, {**load, "inputs": ["check"]}])
    made = save_version(team, json.dumps(document)).pipeline
    run = queue_run(made, Trigger.MANUAL, send=False)
    with connect(warehouse, autocommit=True) as database:
        ensure_meta(database)
        database.execute(
            f'CREATE TABLE "{schema}".numbers (id integer PRIMARY KEY, _flow_run uuid, _source_record bigint)'
        )
        database.execute(f'INSERT INTO "{schema}".numbers VALUES (7, %s, 12)', [run.pk])
        ref = RunRef(str(uuid.uuid4()), str(team.pk), made.slug, "load", 1, 1)
        keep_source_sample(database, ref, [("in/a.csv", number, row) for number, row in enumerate(ROWS, 1)])
    raise_alert("run.failed", "error", "It broke in 3 rows.", "Fix it.", pipeline=made, run=run, node="load")
    return made


def add_mail_channel(page: Page, port: int) -> None:
    page.goto(f"{HERE}/channels/")
    page.get_by_role("link", name="Add email").first.click()
    for label, value in (
        ("Name", "ops"),
        ("To", "ops@example.com"),
        ("From", "flow@example.com"),
        ("Mail server", "localhost"),
        ("Port", str(port)),
    ):
        page.get_by_label(label, exact=True).fill(value)
    page.get_by_label("Encryption").select_option("none")
    page.get_by_role("button", name="Add channel").click()


def test_a_mail_channel_is_added_and_tested(page: Page, pipeline, tmp_path: Path) -> None:
    sign_in(page)
    with serving(make_certificates(tmp_path, "localhost"), starttls=False) as server:
        add_mail_channel(page, server.port)
        page.get_by_role("button", name="Send a test").click()
        expect(page.get_by_text("Test delivered.")).to_be_visible()
        expect(page.get_by_role("row", name="test")).to_contain_text("delivered")
        assert [mail["To"] for mail in server.mails] == ["ops@example.com"]
    page.get_by_role("button", name="Send a test").click()
    expect(page.get_by_text(f"Connection refused by localhost:{server.port}").first).to_be_visible()


def test_a_pipeline_is_deleted_after_a_page_has_reported_what_goes(page: Page, pipeline) -> None:
    from flowapp.runs.models import Run

    sign_in(page)
    page.goto(f"{HERE}/pipelines/numbers/")
    page.get_by_role("link", name="Delete pipeline numbers").click()
    expect(page.get_by_text("1 run has not ended yet")).to_be_visible()
    Run.objects.update(state="cancelled", ended_at=Now())
    page.reload()
    expect(page.get_by_role("region", name="What stays")).to_contain_text("numbers")
    page.get_by_role("button", name="Delete pipeline numbers for good").click()
    expect(page.get_by_text("Pipeline numbers deleted")).to_be_visible()


def test_a_row_is_found_with_its_run(page: Page, pipeline) -> None:
    sign_in(page)
    page.goto(f"{HERE}/trace/")
    page.get_by_label("Pipeline", exact=True).fill("numbers")
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("Column").first.fill("id")
    page.get_by_label("Value").first.fill("7")
    page.locator("#content").get_by_role("button", name="Search").click()
    expect(page.get_by_role("link", name="run 1 of numbers")).to_be_visible()
    expect(page.get_by_text("record 12")).to_be_visible()


def test_an_accepted_rule_appears_in_the_form(page: Page, pipeline) -> None:
    sign_in(page)
    page.goto(f"{HERE}/pipelines/numbers/?node=check")
    page.get_by_role("link", name="Suggest and try rules").click()
    expect(page.get_by_text("would have failed 9 of 60")).to_be_visible()
    take = page.get_by_role("button", name="Add rule oneOf on colour")
    expect(take).to_have_accessible_description("These values become part of the pipeline, which all viewers can read.")
    show_as(page, "light", 390)
    box = take.bounding_box()
    assert box is not None
    assert 0 <= box["x"] < box["x"] + box["width"] <= 390, "it can be pressed on a phone"
    take.click()
    expect(page.get_by_text("Added to your draft of numbers.")).to_be_visible()
    expect(page.get_by_role("button", name="Add rule oneOf on colour")).to_have_count(0)
    page.get_by_role("link", name="Editor").click()
    expect(page.locator("#flow-panel")).to_contain_text("oneOf")


@pytest.mark.slow  # test_every_page.py checks these pages in the normal tier
@in_all_looks
def test_no_page_has_barriers_or_complaints_or_scrolls_sideways(page: Page, pipeline, colours: str, width: int) -> None:
    show_as(page, colours, width)
    complaints = Complaints(page)
    sign_in(page)
    add_mail_channel(page, 1)
    page.get_by_role("button", name="Send a test").click()
    expect(page.get_by_text("Test not delivered").first).to_be_visible()
    give_up_a_message(pipeline)
    for name in (
        "channels/",
        "channels/of/ops/",
        "channels/add/webhook/",
        "channels/add/email/",
        "trace/",
        "suggestions/numbers/check/",
        "health/",
        "health/?pipeline=numbers&state=resolved",
        "pipelines/numbers/delete/",
    ):
        page.goto(f"{HERE}/{name}")
        page.wait_for_load_state("networkidle")
        look(page, name, colours, width)
    page.goto(f"{HERE}/trace/numbers/")
    page.get_by_label("Column").first.fill("id")
    page.get_by_label("Value").first.fill("7")
    page.locator("#content").get_by_role("button", name="Search").click()
    look(page, "trace", colours, width)
    assert list(complaints) == []


def give_up_a_message(pipeline) -> None:
    """Record a message that the mail server has refused."""
    from flowapp.alerts.services import raise_alert
    from flowapp.channels.models import Delivery

    raise_alert("run.failed", "error", "It broke again.", "Fix it.", pipeline=pipeline, node="check")
    text = "Connection refused by localhost:1. Start the server, or correct host and port."
    refused = Delivery.objects.filter(event="opened")
    refused.update(state="failed", ended_at=Now(), error_code="mail.nothing_listens", error_message=text)


def look(page: Page, name: str, colours: str, width: int) -> None:
    assert (name, find_barriers(page), sideways(page)) == (name, [], 0)
    if folder := os.environ.get("ALERTS_PICTURES"):
        page.screenshot(
            path=f"{folder}/{name.strip('/').replace('/', '-').replace('?', '-')}-{colours}-{width}.png", full_page=True
        )
