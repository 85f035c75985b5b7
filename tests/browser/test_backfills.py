"""What people do on the page of a backfill. An engine without Spark loads the chunks, in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Page, expect

from executors.model import Connection
from tests.browser.looks import find_barriers
from tests.browser.people import sign_in
from tests.flowapp.backfills.conftest import history_document
from tests.flowapp.backfills.engine import HistoryEngine, execute_all
from tests.flowapp.quarantine.keeping import connect_to

if TYPE_CHECKING:
    from flowapp.pipelines.models import Pipeline

pytestmark = pytest.mark.django_db(transaction=True)
BACKFILL = "/w/alices-team/backfills/history/"
CHUNKS = 4


@pytest.fixture
def engine() -> HistoryEngine:
    return HistoryEngine(chunks=CHUNKS)


@pytest.fixture
def history(page: Page, warehouse: Connection) -> Pipeline:
    """A pipeline whose history is not loaded, and a person who looks at its backfill and confirms every question."""
    from flowapp.accounts.services import ensure_workspace
    from flowapp.pipelines.services import save_version

    sign_in(page, "editor")
    team = connect_to(ensure_workspace("alices-team"), warehouse)
    pipeline = save_version(team, json.dumps(history_document())).pipeline
    page.goto(BACKFILL)
    page.on("dialog", lambda dialog: dialog.accept())
    return pipeline


@pytest.fixture
def work(history: Pipeline, engine: HistoryEngine) -> Callable[..., int]:
    """Executes as many of the runs that wait."""
    return lambda most=99: execute_all(history, engine, most)


def title(page: Page, words: str) -> None:
    expect(page.get_by_role("heading", name=words)).to_be_visible()


def press(page: Page, name: str) -> None:
    """Press a button by keyboard."""
    button = page.get_by_role("button", name=name)
    button.focus()
    button.press("Enter")


def test_a_backfill_is_started_watched_paused_and_resumed_by_keyboard(page: Page, work) -> None:
    press(page, "Start the backfill")
    title(page, "The run that plans the chunks waits for a worker")
    work(2)
    title(page, f"1 of {CHUNKS} chunks loaded")  # without a reload
    press(page, "Pause")
    title(page, f"The backfill was paused after 1 of {CHUNKS} chunks.")
    assert find_barriers(page) == []
    press(page, "Resume")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    work()
    title(page, f"{CHUNKS} of {CHUNKS} chunks loaded")
    expect(page.get_by_text("Streaming", exact=True)).to_be_visible()


def test_a_failed_chunk_is_found_and_retried_and_a_range_is_loaded_again_for_a_reason(page: Page, work, engine) -> None:
    engine.failing = {2}
    press(page, "Start the backfill")
    work()
    page.get_by_role("link", name="Show the failed chunks").click()
    expect(page.get_by_text("source.unreadable: The source cannot be read.", exact=True)).to_be_visible()
    engine.failing = set()
    press(page, "Retry 1 failed chunk")
    work()
    page.goto(BACKFILL)
    title(page, f"{CHUNKS} of {CHUNKS} chunks loaded")

    page.get_by_text("Load a range again").click()
    page.get_by_label("From").fill("30")
    page.get_by_label("To", exact=True).fill("60")
    page.get_by_label("Reason").fill("corrected by the vendor")
    press(page, "Load the range again")
    work()
    page.goto(BACKFILL)
    title(page, "1 of 1 chunk loaded")
    expect(page.get_by_text("Loads from 30 to 60 again: corrected by the vendor")).to_be_visible()
    assert find_barriers(page) == []
