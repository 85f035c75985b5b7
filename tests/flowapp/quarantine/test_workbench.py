"""The pages on which rejected rows are worked on."""

from __future__ import annotations

import re

import pytest

from executors.postgres.client import connect
from executors.target_database import Counted, rejects
from flowapp.quarantine.models import RowDecision, Selection
from flowapp.runs.models import Run
from tests.flowapp.quarantine.keeping import count_rule, keep, list_entries, report_of, save, tell_fields
from tests.flowapp.reading import HOSTILE, assert_harmless, words

pytestmark = pytest.mark.django_db
ERRORS = "/w/alices-team/errors/"


@pytest.fixture
def table(schema) -> str:
    return f'{schema}."My Orders"'


@pytest.fixture
def run(orders, warehouse, table) -> str:
    """The run of three rejected rows."""
    return keep(warehouse, orders, table, "r1", n=3, row={"id": "1", "name": None}, field="name")


@pytest.fixture
def chosen(as_, run) -> str:
    """The address of a selection of the first two."""
    answer = as_("editor").post(f"{ERRORS}rows/select/", {"row": [f"{run}:r1-0", f"{run}:r1-1"], "run": run})
    assert answer.status_code == 302
    return answer["Location"]


def test_ticked_rows_become_a_selection_with_their_cells(as_, chosen):
    page = words(as_("editor").get(chosen))
    assert "2 selected rows" in page
    assert "Replay 2 rows" in page
    assert Selection.objects.get().rows == 2


def test_only_what_was_put_in_can_be_taken_back(as_, orders, warehouse, table, run, chosen):
    """A row of a run that loaded nothing is fixed by the next successful run, not by a user."""
    keep(warehouse, orders, table, "r2", run, disposition="not_loaded", status="fixed", rowId="r2-0")
    client = as_("editor")
    both = client.post(f"{ERRORS}rows/select/", {"all": "1", "run": run})["Location"]
    assert "fixed 1" in (page := words(client.get(both)))
    assert "Undo" not in page
    client.post(f"{chosen}fix/", {f"cell|{run}:r1-0|name": "Bob"})
    assert "Undo 1 fix" in words(client.get(both))


def test_cells_are_in_the_order_of_the_source(as_, orders, warehouse, table):
    run = keep(warehouse, orders, table, "r1", row={"alpha": "1", "beta": "2", "gamma": "3"}, field="beta")
    tell_fields(warehouse, orders, run, ["gamma", "beta", "alpha"])
    client = as_("editor")
    chosen = client.post(f"{ERRORS}rows/select/", {"row": f"{run}:r1-0"})["Location"]
    page = client.get(chosen).content.decode()
    # Failing fields come first.
    assert re.findall(rf'name="cell\|{run}:r1-0\|(\w+)"', page) == ["beta", "gamma", "alpha"]


def test_the_cell_that_a_transform_renamed_comes_first_and_is_marked(as_, orders, warehouse, table):
    run = keep(warehouse, orders, table, "r1", row={"origin": "JFK", "dest": None}, field="destination")
    client = as_("editor")
    chosen = client.post(f"{ERRORS}rows/select/", {"row": f"{run}:r1-0"})["Location"]
    page = client.get(chosen).content.decode()
    assert re.findall(rf'name="cell\|{run}:r1-0\|(\w+)"', page) == ["dest", "origin"]
    assert page.count('class="failing-field"') == 1


def test_all_rows_that_match_can_be_chosen(as_, run):
    as_("editor").post(f"{ERRORS}rows/select/", {"all": "1", "run": run, "rule": "r1"})
    assert Selection.objects.get().rows == 3


def test_only_cells_that_were_typed_over_are_fixed(as_, alices, run, chosen):
    key = f"{run}:r1-0"
    form = {f"cell|{key}|name": "Bob", f"cell|{key}|id": "1"}
    page = words(as_("editor").post(f"{chosen}fix/", form, follow=True))
    assert "1 row is fixed." in page
    (fixed,) = [e["fixedRow"] for e in list_entries(alices) if e["fixedRow"]]
    assert fixed == {"id": "1", "name": "Bob"}
    assert "was NULL" in page


def test_a_cell_that_is_emptied_again_is_null_as_the_source_gave_it(as_, alices, run, chosen):
    name = f"cell|{run}:r1-0|name"
    as_("editor").post(f"{chosen}fix/", {name: "Bob"})
    assert "1 row is fixed." in words(as_("editor").post(f"{chosen}fix/", {name: ""}, follow=True))
    assert [e["fixedRow"]["name"] for e in list_entries(alices) if e["fixedRow"]] == [None]


def test_what_no_page_of_ours_sends_is_refused_with_a_message(as_, chosen, run):
    assert as_("editor").post(f"{chosen}fix/", {"cell|": "x"}, follow=True).status_code == 200
    refused = as_("editor").post(f"{chosen}fix/", {f"cell|{run}:r1-0": "x"})
    assert refused.status_code == 422
    assert "no field" in words(refused)
    for form in ({"older": "9" * 5000, "reason": "old"}, {"keep": "1", "days": "9" * 5000}):
        answer = as_("admin").post(f"{ERRORS}purge/", form)
        assert answer.status_code == 422
        assert "are too many" in words(answer)


def test_a_value_of_several_lines_stays_as_it_is(as_, orders, warehouse, table):
    run = keep(warehouse, orders, table, "lines", row={"note": "\none\ntwo", "other": "a\rb"}, field="note")
    client = as_("editor")
    chosen = client.post(f"{ERRORS}rows/select/", {"row": f"{run}:lines-0"})["Location"]
    assert "<textarea" in client.get(chosen).content.decode()
    key = f"cell|{run}:lines-0|"
    sent = {f"{key}note": "\r\none\r\ntwo", f"{key}other": "a\r\nb"}
    assert "No cell was changed." in words(client.post(f"{chosen}fix/", sent, follow=True))


def test_a_wide_row_does_not_make_a_form_that_is_refused(as_, orders, warehouse, table):
    run = keep(warehouse, orders, table, "wide", n=30, row={f"c{n}": str(n) for n in range(90)}, field="c7")
    client = as_("editor")
    chosen = client.post(f"{ERRORS}rows/select/", {"all": "1", "run": run})["Location"]
    page = client.get(chosen).content.decode()
    names = re.findall(r'name="(cell\|[^"]*)"', page)
    assert 0 < len(names) <= 800
    assert "No cell was changed." in words(
        client.post(f"{chosen}fix/", {n: n.rsplit("c")[-1] for n in names}, follow=True)
    )


def test_rows_are_ignored_with_a_reason_and_opened_again(as_, alices, chosen):
    client = as_("editor")
    page = words(client.post(f"{chosen}change/", {"verb": "ignore", "reason": "test data"}, follow=True))
    assert "2 rows are ignored." in page
    assert "ignored 2" in page
    assert "2 rows are open again." in words(client.post(f"{chosen}change/", {"verb": "reopen"}, follow=True))
    assert {e["status"] for e in list_entries(alices)} == {"open"}


@pytest.mark.parametrize(("action", "kind"), [("recheck", "recheck"), ("replay", "replay"), ("compute", "fix")])
def test_runs_on_rejected_rows_are_requested_and_have_a_page(as_, chosen, action, kind):
    client = as_("editor")
    answer = client.post(f"{chosen}{action}/", {"field": "name", "expression": "trim(name)"})
    run = Run.objects.get(kind=kind)
    assert answer["Location"].endswith(f"/runs/{run.pk}/")
    Run.objects.filter(pk=run.pk).update(state="succeeded", report=report_of(loaded=1, fails=1))
    page = words(client.get(answer["Location"]))
    assert ("1 still fails a rule" if kind == "recheck" else "1 rejected again by a rule") in page


def test_rows_that_an_expression_has_fixed_are_worked_on_as_they_are_now(as_, alices, warehouse, schema, run, chosen):
    client = as_("editor")
    client.post(f"{chosen}compute/", {"field": "name", "expression": "trim(name)"})
    fix = Run.objects.get(kind="fix")
    with connect(warehouse, autocommit=True) as conn:
        conn.execute(f'UPDATE {schema}."My Orders" SET revision = 1, "fixRun" = %s', [str(fix.pk)])
    Run.objects.filter(pk=fix.pk).update(state="succeeded", report=report_of(fixed=2))
    form = {f"cell|{run}:r1-0|name": "Bob"}
    assert "1 row was not changed" in words(client.post(f"{chosen}fix/", form, follow=True))
    again = f"{chosen}as-they-are/"
    assert f'action="{again}"' in client.get(f"/w/alices-team/runs/{fix.pk}/").content.decode()
    assert client.post(again)["Location"] == chosen
    assert "1 row is fixed." in words(client.post(f"{chosen}fix/", form, follow=True))
    assert as_("viewer").post(again).status_code == 403


def test_a_row_says_who_fixed_it_and_what_the_last_replay_found(as_, orders, warehouse, table, run):
    keep(
        warehouse,
        orders,
        table,
        "r2",
        run,
        status="fixed",
        decidedBy="ann",
        replayRun=run,
        replayResult="fails",
        row={"name": "<b>"},
        fixedRow='{"name": "Bob"}',
    )
    page = words(as_("editor").get(f"{ERRORS}rows/{run}/r2-0/"))
    assert "fixed by ann" in page
    assert "fixed Bob" in page


def test_nothing_in_a_row_runs_on_the_workbench(as_, orders, warehouse, table):
    row = {"name": HOSTILE, HOSTILE: "value"}
    run = keep(warehouse, orders, table, "r1", row=row, field="name", message=HOSTILE, sourceFile=HOSTILE)
    client = as_("editor")
    chosen = client.post(f"{ERRORS}rows/select/", {"row": f"{run}:r1-0"})["Location"]
    assert_harmless(client.get(chosen))
    assert_harmless(client.get(f"{ERRORS}rows/", {"run": run, "search": HOSTILE}))
    assert_harmless(client.get(f"{ERRORS}rows/{run}/r1-0/"))


def test_a_selection_says_when_the_warehouse_is_down(as_, alices, chosen):
    alices.connections.update(port=1)
    answer = as_("editor").get(chosen)
    assert answer.status_code == 503
    assert "The rows cannot be shown" in words(answer)


def test_viewers_do_not_get_to_the_workbench_and_strangers_not_to_selections(as_, run, chosen):
    client = as_("viewer")
    assert client.get(chosen).status_code == 403
    assert client.post(f"{ERRORS}rows/select/", {"row": f"{run}:r1-0"}).status_code == 403
    assert client.get(f"{ERRORS}export/").status_code == 403
    assert client.get(f"{ERRORS}rows/?run={run}&search=1").status_code == 403
    assert not re.search("checkbox", client.get(f"{ERRORS}rows/?run={run}").content.decode())
    assert as_("stranger").get(chosen.replace("alices-team", "bobs-team")).status_code == 404


def test_purging_says_first_what_would_go(as_, alices, orders, warehouse, table):
    keep(warehouse, orders, table, "r1", n=2)
    client = as_("admin")
    form = {"pipeline": "orders", "older": "0", "reason": "asked for"}
    page = words(client.post(f"{ERRORS}purge/", form))
    assert "2 entries older than 0 days of orders will be deleted permanently" in page
    assert len(list_entries(alices)) == 2
    page = words(client.post(f"{ERRORS}purge/", {**form, "sure": "1"}, follow=True))
    assert "2 entries purged." in page
    assert list_entries(alices) == []
    assert RowDecision.objects.get(action="purge").reason == "asked for"
    assert as_("editor").get(f"{ERRORS}purge/").status_code == 403


def test_a_purge_of_more_than_can_be_counted_says_so_and_can_be_begun(
    as_, alices, orders, warehouse, table, monkeypatch
):
    keep(warehouse, orders, table, "r1", n=2)
    client = as_("admin")
    form = {"pipeline": "orders", "older": "0", "reason": "asked for"}
    for counted, reported in ((0, "An unknown number of entries"), (1, "At least 1 entries, and probably more,")):
        monkeypatch.setattr(rejects, "count_older", lambda *requested, n=counted: Counted(n, is_whole=False))
        page = words(client.post(f"{ERRORS}purge/", form))
        assert f"{reported} older than 0 days of orders will be deleted permanently" in page
        assert "The exact number is unknown" in page
        assert "Delete all of them permanently" in page
    assert len(list_entries(alices)) == 2
    assert "2 entries purged." in words(client.post(f"{ERRORS}purge/", {**form, "sure": "1"}, follow=True))


def test_the_retention_of_rows_is_set_and_applied(as_, alices, orders, warehouse, table):
    from flowapp.quarantine.purging import purge_old_rows

    keep(warehouse, orders, table, "r1")
    keep(warehouse, orders, table, "old", createdAt="2020-01-01")
    assert purge_old_rows() == 0
    as_("admin").post(f"{ERRORS}purge/", {"keep": "1", "days": "30"})
    assert purge_old_rows() == 1
    assert [e["ruleId"] for e in list_entries(alices)] == ["r1"]


def test_days_are_shown_with_their_violations(as_, orders, run):
    found = Run.objects.get(pk=run)
    count_rule(found, 5, field="name")
    assert f"{found.queued_at:%Y-%m-%d}: 5 violations in 1 run" in words(as_("viewer").get(ERRORS))
    assert "violates r1" in words(as_("viewer").get(f"{ERRORS}rows/?pipeline=orders&day={found.queued_at:%Y-%m-%d}"))


def test_a_table_with_a_percent_sign_in_its_name_is_worked_on_like_others(as_, alices, warehouse, schema):
    table = f'{schema}."5%s off"'
    run = keep(warehouse, save(alices, "sales", table), table, "r1", row={"name": "50% off"}, field="name")
    client = as_("editor")
    chosen = client.post(f"{ERRORS}rows/select/", {"row": f"{run}:r1-0"})["Location"]
    assert "50% off" in client.get(chosen).content.decode()
    ignored = client.post(f"{chosen}change/", {"verb": "ignore", "reason": "100% test"}, follow=True)
    assert "1 row is ignored." in words(ignored)
    assert "a.csv" in words(client.get(f"{ERRORS}rows/", {"run": run, "search": "50%"}))
