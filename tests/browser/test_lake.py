"""A Delta table as the target, in a browser: a rejected row is fixed and replayed, and found again in the table."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from executors.delta.folders import folder_of
from executors.model import Connection
from tests.browser.looks import Complaints
from tests.browser.people import sign_in
from tests.browser.test_quarantine import look, work_off
from tests.flowapp.conftest import make_document
from tests.flowapp.quarantine.keeping import connect_to

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.spark]
HERE = "/w/alices-team"
ROWS = "id,name\n1,Ann\n2,\n3,Cy\n"


@pytest.fixture
def lake(transactional_db: None, warehouse: Connection, schema: str) -> Any:
    """A run that has loaded two rows into a Delta table and rejected one; returns the connection of the table."""
    from django.conf import settings

    from flowapp.accounts.services import ensure_workspace
    from flowapp.connections.selectors import get_connection
    from flowapp.connections.services import add_connection
    from flowapp.connections.store_fields import StoreFields
    from flowapp.connections.stores import resolve_store
    from flowapp.pipelines.services import save_version
    from flowapp.runs.models import Trigger
    from flowapp.runs.services import queue_run

    team = connect_to(ensure_workspace("alices-team"), warehouse)
    add_connection(team, "lake", StoreFields("folder", {"path": "sales"}))
    folder = settings.FILES_ROOT / team.slug / "in"
    folder.mkdir(parents=True)
    (folder / "people.csv").write_text(ROWS)
    source, load = make_document()["nodes"]
    check = {
        "id": "check",
        "kind": "validate",
        "inputs": ["files"],
        "rowLevel": [{"type": "notNull", "field": "name", "onFail": "skip"}],
        "quarantine": {"enabled": True, "table": f"{schema}.rejected", "connection": "warehouse"},
    }
    place = {"connector": "delta", "connection": "lake", "schema": "shop", "table": "people", "inputs": ["check"]}
    del source["columns"]
    document = make_document(nodes=[source, check, {**load, **place}])
    pipeline = save_version(team, json.dumps(document)).pipeline
    queue_run(pipeline, Trigger.MANUAL, send=False)
    work_off()
    return resolve_store(get_connection(team, "lake"))


def names(lake: Any) -> dict[str, str]:
    table = folder_of(lake, "shop", "people").open()
    assert table is not None
    return {row["id"]: row["name"] for row in table.to_pyarrow_table(columns=["id", "name"]).to_pylist()}


def test_a_rejected_row_of_a_delta_table_is_fixed_replayed_and_traced(page: Page, lake: Any) -> None:
    complaints = Complaints(page)
    page.on("dialog", lambda dialog: dialog.accept())
    sign_in(page)
    assert names(lake) == {"1": "Ann", "3": "Cy"}
    page.goto(f"{HERE}/errors/")
    page.get_by_role("link", name="violations in numbers").click()
    look(page, "lake-rejected")
    page.get_by_role("link", name="Show").first.click()
    page.get_by_role("button", name="Fix, replay or ignore").click()
    page.get_by_label(re.compile("^name in record 2")).fill("Bob")
    page.get_by_role("button", name="Save changes").click()
    look(page, "lake-workbench")
    page.get_by_role("button", name="Replay 1 row").click()
    page.wait_for_url("**/runs/*/")
    work_off()
    expect(page.get_by_text("1 loaded", exact=False).first).to_be_visible()
    look(page, "lake-replayed")
    assert names(lake) == {"1": "Ann", "2": "Bob", "3": "Cy"}

    page.goto(f"{HERE}/trace/numbers/")
    page.get_by_label("Column").first.fill("id")
    page.get_by_label("Value").first.fill("2")
    page.locator("#content").get_by_role("button", name="Search").click()
    expect(page.get_by_text("table shop.people")).to_be_visible()
    look(page, "lake-trace")
    assert complaints == []
