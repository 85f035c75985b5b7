"""Errors of the workbench: shown beside the action, with the entered values."""

from __future__ import annotations

import re

import pytest

from flowapp.quarantine.records import rows_of
from flowapp.runs.models import Run
from tests.flowapp.quarantine.keeping import count_rule, keep, report_of
from tests.flowapp.quarantine.test_workbench import ERRORS, chosen, run, table
from tests.flowapp.reading import words

__all__ = ["chosen", "run", "table"]

pytestmark = pytest.mark.django_db
MADE_UP = "r-5cd9b2e41dd6"


def test_a_mistyped_expression_is_reported_beside_what_was_typed(as_, chosen):
    answer = as_("editor").post(f"{chosen}compute/", {"field": "name", "expression": "regexp_replace(name, "})
    page = answer.content.decode()
    assert answer.status_code == 422
    assert 'value="regexp_replace(name, "' in page
    assert '<option value="name" selected>' in page
    assert re.search(r'id="refused" tabindex="-1" autofocus', page)
    assert "2 selected rows" in words(answer)
    assert not Run.objects.filter(kind="fix").exists()


def test_cells_that_cannot_be_saved_are_shown_again(as_, run, chosen):
    key = f"{run}:r1-0"
    answer = as_("editor").post(f"{chosen}fix/", {f"cell|{key}|name": "Bob", f"cell|{key}|strange": "x"})
    assert answer.status_code == 422
    assert "no field 'strange'" in words(answer)
    assert 'value="Bob"' in answer.content.decode()


def test_no_tick_leads_back_to_the_rows_and_says_so(as_, orders, run):
    client = as_("editor")
    answer = client.post(f"{ERRORS}rows/select/", {"run": run, "status": "open"})
    assert answer["Location"] == f"{ERRORS}rows/?run={run}&status=open#messages"
    assert "No row is selected." in words(client.get(answer["Location"]))


def test_only_rows_that_can_go_are_counted_on_the_buttons(as_, orders, warehouse, table, run):
    keep(warehouse, orders, table, "warned", run, disposition="loaded", row={"id": "9"})
    client = as_("editor")
    chosen = client.post(f"{ERRORS}rows/select/", {"all": "1", "run": run})["Location"]
    page = words(client.get(chosen))
    assert "Replay 3 rows" in page
    assert "Compute for 3 rows" in page
    assert "Ignore 4 rows" in page
    assert "Unchanged: 1 loaded by their own run with a warning." in page


def test_buttons_that_would_do_nothing_are_off_and_say_why(as_, chosen):
    client = as_("editor")
    client.post(f"{chosen}change/", {"verb": "ignore", "reason": "test data"})
    answer = client.get(chosen)
    assert answer.content.decode().count('disabled aria-describedby="who-stays"') == 5
    assert "None of the rows can be fixed or loaded. Unchanged: 2 ignored." in words(answer)


def test_a_replay_that_had_nothing_left_says_so_and_leads_back_to_the_rows(as_, chosen):
    client = as_("editor")
    address = client.post(f"{chosen}replay/")["Location"]
    Run.objects.filter(kind="replay").update(state="succeeded", nothing_new=True, report=report_of(already=2))
    answer = client.get(address)
    assert "none of the rows can be replayed" in words(answer)
    assert "2 not loaded: already replayed" in words(answer)
    assert "Nothing to load" not in words(answer)
    assert f'<a href="{chosen}">' in answer.content.decode()


def test_a_rule_without_an_id_is_reported_by_type_and_field(as_, orders, warehouse, table, run):
    keep(warehouse, orders, table, MADE_UP, run, field="contact", row={"contact": "x"})
    count_rule(Run.objects.get(pk=run), 1, MADE_UP, "contact", type="email")
    client = as_("editor")
    for address in (
        f"{ERRORS}rows/?run={run}&rule={MADE_UP}",
        f"{ERRORS}rows/{run}/{MADE_UP}-0/",
        ERRORS,
        f"/w/alices-team/runs/{run}/",
    ):
        answer = client.get(address)
        assert "email on contact" in words(answer)
        assert MADE_UP not in words(answer)
        assert f'title="{MADE_UP}"' in answer.content.decode()


def test_rows_are_counted_and_ticked_at_once(as_, orders, warehouse, table, run):
    keep(warehouse, orders, table, "r2", run, rowId="r1-0")
    answer = as_("editor").get(f"{ERRORS}rows/?run={run}")
    assert "3 rows, in 4 violations in total." in words(answer)
    assert 'data-tick-all="row"' in answer.content.decode()


def test_the_grid_names_fields_as_they_are_and_the_state_of_the_row_apart(as_, chosen):
    page = as_("editor").get(chosen).content.decode()
    assert "<th>State of the row</th>" in page
    assert '<th class="text-break field-name">name</th>' in page


@pytest.mark.parametrize(
    ("action", "title"),
    [
        ("recheck", "Check of rejected rows: recheck 1 of"),
        ("replay", "Replay of rejected rows: run 2 of"),
        ("compute", "Fix of rejected rows: fix 1 of"),
    ],
)
def test_the_page_of_a_run_says_what_it_does_with_the_rows(as_, chosen, action, title):
    client = as_("editor")
    address = client.post(f"{chosen}{action}/", {"field": "name", "expression": "trim(name)"})["Location"]
    page = words(client.get(address))
    assert title in page


def test_what_an_expression_left_as_it_was_is_reported(as_, chosen):
    client = as_("editor")
    address = client.post(f"{chosen}compute/", {"field": "name", "expression": "trim(name)"})["Location"]
    Run.objects.filter(kind="fix").update(state="succeeded", report=report_of(fixed=1, unchanged=1))
    page = words(client.get(address))
    assert "1 unchanged: the expression returns the same value" in page
    assert "trim(name) computed for name" in page
    seen = words(as_("viewer").get(address))
    assert "An expression computed for name" in seen
    assert "trim(name)" not in seen, "it may quote values"


def test_an_expression_replaces_what_was_typed_only_where_that_is_ticked(as_, chosen):
    client = as_("editor")
    page = client.get(chosen)
    assert "Manually edited values of this field are not replaced either" in words(page)
    assert 'name="replace" value="1" >' in page.content.decode(), "not ticked"
    wish = {"field": "name", "expression": "trim(name)"}
    for form, replaces in ((wish, False), ({**wish, "replace": "1"}, True)):
        client.post(f"{chosen}compute/", form)
        fix = Run.objects.filter(kind="fix").latest("number")
        assert rows_of(fix).replaces_typed is replaces
        Run.objects.filter(pk=fix.pk).update(state="succeeded", report=report_of(typed=3))
        reported = words(client.get(f"/w/alices-team/runs/{fix.pk}/"))
        assert "3 unchanged: edited manually" in reported
    refused = client.post(f"{chosen}compute/", {**wish, "expression": "trim(", "replace": "1"})
    assert 'name="replace" value="1" checked>' in refused.content.decode()
