"""The workbench for rejected rows: a complete pass with a real engine and table, and its layout."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from psycopg.types.json import Jsonb

from executors.model import Connection
from executors.postgres.client import connect
from tests.browser.looks import Complaints, find_barriers, show_as, sideways
from tests.browser.people import sign_in

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.spark]
ERRORS = "/w/alices-team/errors/"
HOSTILE = "<img src=x onerror=alert(1)>"
PICTURES = os.environ.get("FLOW_TEST_PICTURES")
"""A folder for screenshots of the test."""


@pytest.fixture
def people(settings: Any, tmp_path: Path, warehouse: Connection, schema: str, page: Page) -> Callable[[], list[Any]]:
    """Load one of four rows into a table with a key; return a function that reads the table."""
    from flowapp.accounts.services import ensure_workspace
    from flowapp.connections.fields import ConnectionFields
    from flowapp.connections.services import add_connection
    from flowapp.pipelines.services import save_version
    from flowapp.runs.dispatch import run_inline
    from tests.flowapp.conftest import make_document

    sign_in(page)
    settings.FILES_ROOT = tmp_path
    w, team = warehouse, ensure_workspace("alices-team")
    add_connection(team, "warehouse", ConnectionFields("postgres", w.host, w.port, w.database, w.user, w.password))
    folder = tmp_path / "alices-team" / "in"
    folder.mkdir(parents=True)
    (folder / "people.csv").write_text(f"id,name,city\n1,Ann,Oslo\n2,,{HOSTILE}\n3,,Rome\n4,,Bonn\n")
    source, target = make_document(schema=schema)["nodes"]
    check = {
        "id": "check",
        "kind": "validate",
        "inputs": ["files"],
        "rowLevel": [{"id": "named", "type": "notNull", "field": "name", "onFail": "skip"}],
        "quarantine": {"enabled": True, "table": f"{schema}.rejected"},
    }
    target |= {"inputs": ["check"], "loadMode": "upsert", "upsertKey": ["id"], "table": "people"}
    document = make_document("people", schema=schema, nodes=[source, check, target])
    pipeline = save_version(team, json.dumps(document)).pipeline
    with connect(warehouse, autocommit=True) as conn:
        conn.execute(f"CREATE TABLE {schema}.people (id integer PRIMARY KEY, name text, city text)")
        assert run_inline(pipeline).state == "succeeded_with_warnings"
        conn.execute(f"INSERT INTO {schema}.people VALUES (3, 'Newer', 'Rome')")

    def held() -> list[Any]:
        with connect(warehouse, autocommit=True) as conn:
            return conn.execute(f"SELECT id, name FROM {schema}.people ORDER BY id").fetchall()

    return held


def work_off() -> None:
    """Execute the next queued run, like a worker."""
    from flowapp.runs.dispatch import run_to_end
    from flowapp.runs.models import Run, State

    for run in Run.objects.filter(state=State.QUEUED):
        run_to_end(run)


def look(page: Page, name: str) -> None:
    """Check the page with axe and for horizontal scrolling: wide and narrow, light and dark."""
    for width in (1280, 390):
        for colours in ("light", "dark"):
            show_as(page, colours, width)
            assert find_barriers(page) == [], name
            assert sideways(page) <= 0, name
            if PICTURES:
                page.screenshot(path=f"{PICTURES}/{name}-{width}-{colours}.png", full_page=True)
    page.set_viewport_size({"width": 1280, "height": 900})


def test_rejected_rows_are_fixed_checked_and_replayed_in_the_browser(
    page: Page, people: Callable[[], list[Any]]
) -> None:
    complaints = Complaints(page)
    page.on("dialog", lambda dialog: dialog.accept())
    page.goto(ERRORS)
    expect(page.get_by_role("heading", name="By day")).to_be_visible()
    look(page, "landing")
    page.get_by_role("link", name="violations in people").click()
    look(page, "rows")
    for box in page.get_by_role("checkbox", name="Select the row").all():
        box.check()
    page.get_by_role("button", name="Fix selected rows").click()
    expect(page.get_by_role("heading", name="3 selected rows")).to_be_visible()
    expect(page.get_by_text("Rows of", exact=False).first).to_be_visible()

    page.get_by_label("name in record 2 of in/people.csv").fill("Bob")
    page.get_by_label("name in record 3 of in/people.csv").fill("Cy")
    page.get_by_role("button", name="Save changes").click()
    expect(page.get_by_text("2 rows are fixed.")).to_be_visible()
    look(page, "workbench")

    page.get_by_role("button", name="Check again").click()
    work_off()
    page.reload()
    expect(page.get_by_text("the table has this key with other values")).to_be_visible()
    expect(page.get_by_text("Newer → Cy")).to_be_visible()
    look(page, "recheck")
    assert people() == [(1, "Ann"), (3, "Newer")]
    page.get_by_role("checkbox", name="Let record 3 of in/people.csv replace the row with its key").check()
    page.get_by_role("button", name="Replay these rows").click()
    page.wait_for_url("**/runs/**")
    work_off()
    page.reload()
    expect(page.get_by_text("2 loaded", exact=False).first).to_be_visible()
    expect(page.get_by_role("cell", name="rejected again by a rule")).to_have_count(1)
    look(page, "replay")
    page.get_by_role("link", name="show it (rejected again by a rule").click()
    expect(page.get_by_role("cell", name="loaded", exact=True)).to_have_count(0)
    page.get_by_role("link", name="in/people.csv record 4").click()
    expect(page.get_by_role("heading", name="Rejected row")).to_be_visible()
    page.go_back()
    assert people() == [(1, "Ann"), (2, "Bob"), (3, "Cy")]

    page.get_by_role("link", name="Fix these rows").click()
    page.get_by_label("Reason for ignoring them").fill("nobody knows the name")
    page.get_by_role("button", name="Ignore 1 row").click()
    expect(page.get_by_text("1 row is ignored.")).to_be_visible()
    page.goto(f"{ERRORS}rows/?pipeline=people&status=replayed")
    page.get_by_role("link", name="Show").first.click()
    expect(page.get_by_text("fixed", exact=False).first).to_be_visible()
    look(page, "row")
    page.goto(f"{ERRORS}purge/")
    look(page, "purge")
    assert complaints == []


def test_the_workbench_is_used_by_keyboard_alone(page: Page, people: Callable[[], list[Any]]) -> None:
    page.goto(f"{ERRORS}rows/?pipeline=people")
    page.get_by_label("Rule", exact=True).focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    page.get_by_role("button", name="Show", exact=True).focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/rows/?pipeline=people&rule=named&field=name")
    page.get_by_role("checkbox", name="Select the row").first.focus()
    page.keyboard.press("Space")
    page.get_by_role("button", name="Fix selected rows").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="1 selected row")).to_be_visible()
    page.get_by_label("name in record").focus()
    page.keyboard.type("Dee")
    page.keyboard.press("Enter")
    expect(page.get_by_text("1 row is fixed.")).to_be_visible()


def test_rows_are_distinguished_in_their_list_whatever_they_hold(
    page: Page, people: Callable[[], Any], warehouse: Connection, schema: str
) -> None:
    complaints = Complaints(page)
    with connect(warehouse, autocommit=True) as conn:
        row = {"name": "x" * 5000, "note": "many words " * 50, "a" * 300: None, "empty": "", "html": HOSTILE}
        long = {**row, **{f"column {n}": n for n in range(40)}}
        conn.execute(
            f'UPDATE {schema}.rejected SET row = %s, status = \'fixed\', "fixedRow" = %s, "sourceFile" = %s'
            " WHERE row ->> 'id' = '3'",
            [Jsonb(long), Jsonb({**long, "name": "y" * 5000}), f"in/{'f' * 200}.csv"],
        )
        conn.execute(f"UPDATE {schema}.rejected SET row = row || '{{\"name\": \"\"}}' WHERE row ->> 'id' = '4'")
    page.goto(f"{ERRORS}rows/?pipeline=people")
    expect(page.get_by_role("row").filter(has_text="id 2")).to_contain_text("NULL")
    expect(page.get_by_role("row").filter(has_text="id 4")).to_contain_text("empty text")
    expect(page.get_by_role("row").filter(has_text="xxxx")).to_contain_text("… cut")
    look(page, "rows-long")
    page.get_by_role("link", name="Where did my row go?").click()
    expect(page).to_have_url(re.compile("/trace/people/$"))
    assert complaints == []


def test_an_expression_does_not_replace_manually_edited_values(page: Page, people: Callable[[], Any]) -> None:
    complaints = Complaints(page)
    page.goto(f"{ERRORS}rows/?pipeline=people")
    page.get_by_role("button", name="Fix all matching rows").click()
    page.get_by_label("name in record 2 of in/people.csv").fill("Bob")
    page.get_by_role("button", name="Save changes").click()
    expect(page.get_by_text("1 row is fixed.")).to_be_visible()
    page.get_by_role("textbox", name="Expression").fill("concat('row ', id)")
    expect(page.get_by_role("checkbox", name="Also replace manually edited values")).not_to_be_checked()
    page.get_by_role("button", name="Compute for 3 rows").click()
    page.wait_for_url("**/runs/**")
    work_off()
    page.reload()
    expect(page.get_by_text("1 unchanged: edited manually")).to_be_visible()
    look(page, "computed")
    page.get_by_role("button", name="Fix these rows").click()
    expect(page.get_by_label("name in record 2 of in/people.csv")).to_have_value("Bob")
    expect(page.get_by_label("name in record 3 of in/people.csv")).to_have_value("row 3")
    page.get_by_label("name in record 3 of in/people.csv").fill("Cy")
    page.get_by_role("button", name="Save changes").click()
    expect(page.get_by_text("1 row is fixed.")).to_be_visible()
    assert complaints == []


def test_an_error_appears_at_its_form_and_has_the_focus(page: Page, people: Callable[[], Any]) -> None:
    complaints = Complaints(page)
    page.goto(f"{ERRORS}rows/?pipeline=people")
    page.get_by_role("button", name="Fix selected rows").click()
    expect(page.get_by_role("alert").filter(has_text="No row is selected.")).to_be_visible()
    expect(page.locator("#messages")).to_be_focused()

    page.get_by_role("checkbox", name="Select all rows").check()
    for box in page.get_by_role("checkbox", name="Select the row").all():
        expect(box).to_be_checked()
    look(page, "rows-ticked")
    page.get_by_role("button", name="Fix selected rows").click()
    page.get_by_role("textbox", name="Expression").fill("regexp_replace(name, ")
    page.get_by_role("button", name="Compute for 3 rows").click()
    expect(page.locator("#refused")).to_be_focused()
    expect(page.get_by_role("textbox", name="Expression")).to_have_value("regexp_replace(name, ")
    look(page, "workbench-refused")
    assert [text for text in complaints if "422" not in text] == []
