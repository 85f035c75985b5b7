"""The pages of previews and of held runs: reachable, readable, and decided on by their buttons."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from executors.model import Connection
from tests.browser.looks import Complaints, find_barriers, in_all_looks, show_as, sideways
from tests.browser.people import sign_in

pytestmark = pytest.mark.django_db(transaction=True)
LIMITS = "The table would change from 336,776 to 84,194 rows, 75.0 % fewer; 50 % is allowed."


@pytest.fixture
def world(page: Page, warehouse: Connection) -> dict[str, str]:
    """Create a preview and a held run with engines without Spark; return their URLs."""
    sign_in(page)
    return make_world(warehouse)


def make_world(warehouse: Connection) -> dict[str, str]:
    from flowapp.accounts.services import ensure_workspace
    from flowapp.connections.fields import ConnectionFields
    from flowapp.connections.services import add_connection
    from flowapp.pipelines.services import save_version
    from flowapp.runs.dispatch import preview_inline, run_inline
    from tests.flowapp.conftest import make_document

    w, team = warehouse, ensure_workspace("alices-team")
    add_connection(team, "warehouse", ConnectionFields("postgres", w.host, w.port, w.database, w.user, w.password))
    pipeline = save_version(team, json.dumps(make_document("flights"))).pipeline
    runs = {"preview": preview_inline(pipeline, engine=_counts), "held": run_inline(pipeline, engine=_holds)}
    return {name: f"/w/alices-team/runs/{run.pk}/" for name, run in runs.items()}


def _counts(job: Any, ports: Any) -> Any:
    from executors.effects import Effect, KeyMatch, Sample
    from executors.model import RuleCount
    from executors.report import NodeReport, RunReport

    samples = tuple(
        Sample({"id": str(n)}, {"dep_delay": [str(n), str(n + 3)], "tailnum": [None, f"N{n}UA"]}) for n in range(20)
    )
    keys = KeyMatch(("id",), 1_204, 8_211, 324_849, 2_512, {"dep_delay": 8_211, "tailnum": 312}, samples)
    effect = Effect("load", "public.flights", "upsert", False, 336_776, 1_204, 8_211, 324_849, keys=keys)
    numbers = {"rows_read": 336_776, "rows_rejected": 2_512, "rows_filtered": 0, **effect.node_fields()}
    rules = [RuleCount("files", "notNull:tailnum", "notNull", "tailnum", "skip", 2_512)]
    return RunReport(nodes=[NodeReport("load", "target", **numbers)], rules=rules, effects=[effect])


def _holds(job: Any, ports: Any) -> Any:
    from executors.effects import Effect, KeyMatch
    from executors.holding import Evaluation, Held, Reason, StagedLoad
    from executors.load_record import NONE_SKIPPED
    from executors.model import PassResult
    from executors.report import RunReport

    if job.approved:
        return RunReport()
    keys = KeyMatch(("id",), 0, 12, 84_182, 252_582, {"dep_delay": 12})
    effect = Effect("load", "public.flights", "truncate", False, 336_776, 84_194, deleted=336_776, keys=keys)
    staged = StagedLoad(
        job.attempt, (), (), (), (), 84_194, PassResult(()), (), NONE_SKIPPED, Evaluation.of([], effect)
    )
    raise Held("load", [Reason("maxDecreasePct", 50, 75.0, LIMITS)], effect, staged)


@in_all_looks
@pytest.mark.parametrize("name", ["preview", "held"])
def test_the_pages_have_no_barriers_and_do_not_scroll_sideways(
    page: Page, world: dict[str, str], name: str, width: int, colours: Any
) -> None:
    complaints = Complaints(page)
    show_as(page, colours, width)
    page.goto(world[name])
    assert find_barriers(page) == []
    assert sideways(page) <= 0
    assert complaints == []


def test_the_editor_requests_a_preview(page: Page, world: dict[str, str]) -> None:
    page.goto("/w/alices-team/pipelines/flights/")
    page.get_by_role("button", name="More ways to run").click()
    page.get_by_role("button", name="Preview effect").click()
    expect(page.get_by_role("heading", name="Preview: what a run of flights would change")).to_be_visible()


def test_a_held_run_is_approved_by_its_page(page: Page, world: dict[str, str]) -> None:
    page.on("dialog", lambda dialog: dialog.accept())
    page.goto(world["held"])
    page.get_by_label("Reason (optional)").fill("Old flights were archived.")
    page.get_by_role("button", name="Approve and load").click()
    expect(page.get_by_text("Old flights were archived.").first).to_be_visible()


def test_a_held_run_is_discarded_with_a_reason(page: Page, world: dict[str, str]) -> None:
    page.on("dialog", lambda dialog: dialog.accept())
    page.goto(world["held"])
    page.locator("#discard-reason").fill("Half of the file is missing.")
    page.get_by_role("button", name="Discard load").click()
    expect(page.get_by_text("Half of the file is missing.").first).to_be_visible()
    expect(page.get_by_text("Discarded", exact=True).first).to_be_visible()
