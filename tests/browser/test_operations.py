"""Runs, rejected rows, files, health and connections in a browser: polling parts, and checks that all pages share."""

from __future__ import annotations

import json
import re

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from executors.report import CheckReport, RunWarning
from tests.browser.looks import Complaints, find_barriers, in_all_looks, show_as, sideways
from tests.browser.people import sign_in
from tests.flowapp.conftest import make_document
from tests.flowapp.quarantine.keeping import connect_to

pytestmark = pytest.mark.django_db(transaction=True)
HERE = "/w/alices-team"
EMPTY = (
    "runs/",
    "errors/",
    "files/",
    "files/upload/",
    "backups/",
    "health/",
    "connections/",
    "connections/add/",
    "connections/add/postgresql/",
)


@pytest.fixture
def running(warehouse):
    """A run of a pipeline in alice's team that a worker elsewhere has in its hands."""
    from flowapp.accounts.services import ensure_workspace
    from flowapp.pipelines.services import save_version
    from flowapp.runs.models import NodeRun, Run, State, Trigger
    from flowapp.runs.services import queue_run

    workspace = connect_to(ensure_workspace("alices-team"), warehouse)
    run = queue_run(save_version(workspace, json.dumps(make_document())).pipeline, Trigger.MANUAL, send=False)
    Run.objects.filter(pk=run.pk).update(state=State.RUNNING, step="pass", started_at=timezone.now())
    NodeRun.objects.create(
        workspace=workspace, run=run, position=0, node="files", kind="source", rows_out=10, duration_ms=100
    )
    return run


def finish(run) -> None:
    """Let the run fail with numbers, rules, checks, warnings, lines and an alert: all that its page can show."""
    from flowapp.alerts.services import raise_alert
    from flowapp.runs.load_units.models import LoadUnit
    from flowapp.runs.models import NodeRun, RuleCount, Run, RunLog, State
    from flowapp.runs.stored_report import StoredReport

    mine = {"workspace": run.workspace, "run": run}
    NodeRun.objects.create(
        **mine, position=1, node="load", kind="target", rows_read=10, rows_loaded=8, rows_rejected=2, rows_filtered=0
    )
    RuleCount.objects.create(
        **mine, position=0, node="check", rule="r1", type="notNull", field="id", on_fail="skip", violations=2
    )
    RunLog.objects.create(**mine, attempt=1, at=timezone.now(), level="warning", message="Careful.")
    LoadUnit.objects.create(
        **mine,
        pipeline=run.pipeline,
        node="files",
        sha256="0" * 64,
        name="in/a.csv",
        size=9,
        state="failed",
        changed_at=timezone.now(),
    )
    raise_alert("run.failed", "error", "It broke.", "Fix it.", pipeline=run.pipeline, run=run, node="load")
    Run.objects.filter(pk=run.pk).update(
        state=State.FAILED,
        ended_at=timezone.now(),
        error_code="x.y",
        error_node="load",
        error_message="It broke.",
        error_hint="Fix it.",
        step="",
        report=StoredReport(
            checks=(CheckReport("check", "rowCount", ok=False, message="Too few.", observed=8),),
            warnings=(RunWarning("rows.rejected", "check", "2 rows were rejected."),),
        ).to_json(),
    )


@pytest.mark.slow  # test_every_page.py checks these pages in the normal tier
@in_all_looks
def test_no_page_has_barriers_or_complaints_or_scrolls_sideways(page: Page, running, colours: str, width: int) -> None:
    show_as(page, colours, width)
    complaints = Complaints(page)
    sign_in(page)
    visit(page, [*EMPTY, f"runs/{running.pk}/"])
    finish(running)
    add_connection(running.workspace)
    named = "connections/named/nowhere/"
    restore = keep_and_restore(running)
    visit(page, [*EMPTY, f"runs/{running.pk}/", f"errors/rows/?run={running.pk}", named, f"{named}remove/"])
    visit(page, ["runs/", f"runs/{restore.pk}/", f"backups/?run={running.pk}"])
    page.get_by_text("Restore…").click()
    assert (find_barriers(page), sideways(page)) == ([], 0)
    assert list(complaints) == []


def keep_and_restore(run):
    """A backup of before `run`, and the run that is to put it back."""
    from flowapp.backups.models import Backup
    from flowapp.backups.services import restore_backup
    from flowapp.runs.models import Trigger

    backup = Backup.objects.create(
        workspace=run.workspace,
        pipeline=run.pipeline,
        run=run,
        node="load",
        connection="warehouse",
        schema="public",
        table="numbers",
        rows=1_200_000,
        taken_at=timezone.now(),
    )
    return restore_backup(backup, "The file was wrong.", Trigger.MANUAL, send=False)


TABS = ("visual&node=load", "json", "sql", "lineage", "runs", "errors", "schedule", "history", "history&version=1")


@pytest.mark.slow  # test_every_page.py checks these pages in the normal tier
@in_all_looks
def test_no_tab_of_the_editor_has_barriers_or_scrolls_sideways(page: Page, running, colours: str, width: int) -> None:
    show_as(page, colours, width)
    note_statements(running)
    finish(running)
    sign_in(page)
    visit(page, [f"pipelines/numbers/?tab={tab}" for tab in TABS] + [f"runs/{running.pk}/", "health/", "settings/"])
    page.goto("/workspaces/")
    assert (find_barriers(page), sideways(page)) == ([], 0)


def note_statements(run) -> None:
    from flowapp.runs.models import CommitRecord

    CommitRecord.objects.create(
        workspace=run.workspace,
        pipeline=run.pipeline,
        run=run,
        node="load",
        attempt=1,
        committed_at=timezone.now(),
        statements=["INSERT INTO numbers SELECT 1"],
    )


def visit(page: Page, addresses: list[str]) -> None:
    for address in addresses:
        page.goto(f"{HERE}/{address}")
        expect(page.locator("#health-light .badge")).to_be_visible()
        assert (find_barriers(page), sideways(page)) == ([], 0), address


def add_connection(workspace) -> None:
    from flowapp.connections.fields import ConnectionFields
    from flowapp.connections.services import add_connection, probe_connection

    add_connection(workspace, "nowhere", ConnectionFields("postgres", "127.0.0.1", 1, "none", "nobody", "password"))
    probe_connection(workspace, "nowhere")


def test_the_page_of_a_run_follows_it_to_its_end_and_then_asks_no_more(page: Page, running) -> None:
    sign_in(page)
    page.goto(f"{HERE}/runs/{running.pk}/")
    expect(page.get_by_text("Read, validate and stage rows")).to_be_visible()
    finish(running)

    expect(page.get_by_role("heading", name="It broke.")).to_be_visible(timeout=10_000)
    expect(page.locator(".equation")).to_contain_text("read 10 = loaded 8 + rejected 2 + filtered 0")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.wait_for_timeout(3_000)
    assert [url for url in asked if str(running.pk) in url] == []


def test_the_light_lists_alerts_that_lead_to_their_runs(page: Page, running) -> None:
    finish(running)
    sign_in(page)
    page.goto(f"{HERE}/files/")
    page.get_by_role("button", name="System Health").focus()
    page.keyboard.press("Enter")
    page.get_by_role("link", name="It broke. ").click()

    expect(page).to_have_url(re.compile(f"/runs/{running.pk}/$"))


def test_the_light_reports_that_the_server_went_silent(page: Page, running) -> None:
    sign_in(page)
    page.goto(f"{HERE}/files/")
    light = page.locator("#health-light")
    expect(light.locator(".badge")).to_be_visible()
    page.route("**/health/widget/", lambda route: route.abort())
    page.evaluate("document.body.dispatchEvent(new Event('alert:changed'))")

    expect(light).to_contain_text("Unknown")


def test_a_connection_is_tested_in_place(page: Page, running) -> None:
    add_connection(running.workspace)
    sign_in(page)
    page.goto(f"{HERE}/connections/named/nowhere/")
    page.get_by_role("button", name="Test now").click()

    expect(page.locator("#connection-test")).to_contain_text("0 s ago")
    expect(page.get_by_role("button", name="Test now")).to_be_enabled()


def test_a_filter_narrows_the_list_and_is_part_of_the_url(page: Page, running) -> None:
    sign_in(page)
    page.goto(f"{HERE}/runs/")
    page.get_by_label("State").select_option("failed")

    expect(page.get_by_role("heading", name="No matching runs")).to_be_visible()
    expect(page).to_have_url(re.compile("state=failed"))
    page.go_back()
    expect(page.get_by_role("link", name="Run 1 of numbers")).to_be_visible()
