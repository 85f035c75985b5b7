"""A hook that failed after its load, on the page of the run."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from executors.model import Connection
from executors.report import HookReport
from tests.browser.looks import Complaints, find_barriers, in_all_looks, show_as, sideways
from tests.browser.people import sign_in
from tests.flowapp.conftest import make_document
from tests.flowapp.quarantine.keeping import connect_to

pytestmark = pytest.mark.django_db(transaction=True)
STATEMENTS = (
    ("succeeded", "sql", "ANALYZE orders", "ANALYZE"),
    (
        "failed",
        "refresh_mat_view",
        'REFRESH MATERIALIZED VIEW CONCURRENTLY "public"."daily_totals_of_all_regions"',
        "public.daily_totals_of_all_regions cannot be refreshed concurrently. It was never filled, or has no unique "
        "index on plain columns of all its rows. [hook.view_not_unique] Create such an index, refresh it once "
        "without `concurrently`, or remove `concurrently`.",
    ),
    ("not_run", "webhook", "POST /loaded to connection pager", "Not run, because load.postHook.1 failed."),
)


def make_hooks(*states: str) -> tuple[HookReport, ...]:
    shown = [(state, *rest) for state, (_, *rest) in zip(states, STATEMENTS, strict=True)]
    return tuple(
        HookReport(
            f"load.postHook.{i}",
            "load",
            kind,
            "postHook",
            state,
            statement,
            message,
            duration_ms=1234 if state != "not_run" else 0,
        )
        for i, (state, kind, statement, message) in enumerate(shown)
    )


@pytest.fixture
def run(warehouse: Connection) -> Any:
    """A loaded run; `run.show(states…)` lets its hooks be in these states."""
    from flowapp.accounts.services import ensure_workspace
    from flowapp.pipelines.services import save_version
    from flowapp.runs.models import NodeRun, Run, State, Trigger
    from flowapp.runs.services import queue_run
    from flowapp.runs.stored_report import StoredReport

    workspace = connect_to(ensure_workspace("alices-team"), warehouse)
    made = queue_run(save_version(workspace, json.dumps(make_document())).pipeline, Trigger.MANUAL, send=False)
    NodeRun.objects.create(
        workspace=workspace,
        run=made,
        position=0,
        node="load",
        kind="target",
        rows_read=10,
        rows_loaded=10,
        rows_rejected=0,
        rows_filtered=0,
        rows_inserted=10,
        rows_updated=0,
        rows_unchanged=0,
    )

    def show(*states: str) -> None:
        whole = set(states) == {"succeeded"}
        Run.objects.filter(pk=made.pk).update(
            state=State.SUCCEEDED if whole else State.LOADED_HOOK_FAILED,
            report=StoredReport(hooks=make_hooks(*states)).to_json(),
            lease_owner="",
            lease_until=None,
        )

    made.show = show
    return made


@in_all_looks
def test_hooks_are_shown_without_barriers(page: Page, run: Any, colours: str, width: int) -> None:
    show_as(page, colours, width)
    complaints = Complaints(page)
    sign_in(page)
    for states in (("succeeded", "failed", "not_run"), ("succeeded",) * 3):
        run.show(*states)
        page.goto(f"/w/alices-team/runs/{run.pk}/")
        expect(page.get_by_role("heading", name="Hooks")).to_be_visible()
        assert find_barriers(page) == []
        assert sideways(page) <= 0
    page.goto("/w/alices-team/connections/add/webhook/")
    assert (find_barriers(page), sideways(page)) == ([], 0)
    assert list(complaints) == []


def test_the_hook_is_run_again_by_a_button_and_the_page_follows(page: Page, run: Any) -> None:
    run.show("succeeded", "failed", "not_run")
    sign_in(page)
    page.goto(f"/w/alices-team/runs/{run.pk}/")
    again = page.get_by_role("button", name=re.compile(r"Rerun hook.*load\.postHook\.1"))
    again.click()
    expect(page.get_by_text("rerun requested", exact=True)).to_be_visible()
    expect(again).to_be_disabled()
    run.show("succeeded", "succeeded", "succeeded")
    expect(again).to_have_count(0)
    expect(page.get_by_text("Succeeded").first).to_be_visible()
