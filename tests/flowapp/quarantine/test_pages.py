"""The pages of rejected rows: counts, rows, and one row in full."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape
from urllib.parse import quote

import pytest
from django.utils import timezone

from flowapp.accounts.services import ensure_workspace
from flowapp.quarantine import selectors
from flowapp.runs.load_units.models import LoadUnit
from flowapp.runs.models import Run, Trigger
from flowapp.runs.services import queue_run
from tests.flowapp.quarantine.keeping import connect_to, count_rule, keep, save, tell_fields
from tests.flowapp.reading import HOSTILE, assert_harmless, words

pytestmark = pytest.mark.django_db
ERRORS = "/w/alices-team/errors/"


@pytest.fixture
def table(schema) -> str:
    return f'{schema}."My Orders"'


@pytest.fixture
def run(orders) -> Run:
    return queue_run(orders, Trigger.MANUAL, send=False)


def count(run: Run, rule: str = "r1", field: str | None = "tailnum", violations: int = 5) -> None:
    count_rule(run, violations, rule, field)


def test_without_violations_the_page_says_what_it_is_for(workspace, as_):
    assert "No row was rejected in the last 30 days" in words(as_("viewer").get(ERRORS))


def test_violations_are_counted_by_pipeline_rule_and_field(as_, orders, run):
    count(run, violations=5)
    count(run, "r2", "distance", 1_000)
    count(queue_run(orders, Trigger.MANUAL, send=False), violations=7)
    text = words(as_("viewer").get(ERRORS))

    assert "orders 1,012 violations in orders 2" in text
    assert "distance orders 1,000 violations of distance in orders 1" in text
    assert "tailnum orders 12 violations of tailnum in orders 2" in text
    assert "r1 notNull tailnum orders check reject row 12" in text


def test_rules_that_nothing_violated_are_excluded(as_, run):
    count(run, "silent", violations=0)

    assert "silent" not in words(as_("viewer").get(ERRORS))


def test_only_runs_of_the_chosen_time_count(as_, run):
    run.queued_at = timezone.now() - timedelta(days=5)
    count(run)
    client = as_("viewer")

    assert "orders 5 violations" in words(client.get(ERRORS, {"days": "7"}))
    assert "No row was rejected today" in words(client.get(ERRORS, {"days": "1"}))
    assert "last 30 days" in words(client.get(ERRORS, {"days": "nonsense"}))


def test_counts_are_reported_while_the_warehouse_is_down_and_rows_say_that_it_is(as_, alices, orders, run):
    count(run)
    alices.connections.update(port=1)
    client = as_("editor")

    assert "orders 5 violations" in words(client.get(ERRORS))
    for address in (f"rows/?run={run.pk}", f"rows/{run.pk}/r1-0/"):
        answer = client.get(ERRORS + address)
        assert answer.status_code == 503
        assert "The rows cannot be shown" in words(answer)
        assert "target.unreachable" in words(answer)


def test_counts_cost_a_constant_number_of_queries(as_, run, django_assert_max_num_queries):
    for n in range(60):
        count(run, f"r{n}", f"f{n}")
    client = as_("viewer")

    with django_assert_max_num_queries(8):
        answer = client.get(ERRORS)

    assert "f59" in words(answer)


def test_rows_are_listed_by_pipeline_run_rule_and_field(as_, orders, warehouse, table, run):
    keep(warehouse, orders, table, "r1", run, field="tailnum")
    keep(warehouse, orders, table, "r2", run, field="distance")
    keep(warehouse, orders, table, "r3", field="tailnum")
    client = as_("viewer")

    def rules(query: str) -> list[str]:
        page = words(client.get(f"{ERRORS}rows/?{query}"))
        return [rule for rule in ("r1", "r2", "r3") if f"violates {rule} " in page]

    assert rules("pipeline=orders") == ["r1", "r2", "r3"]
    assert rules(f"run={run.pk}") == ["r1", "r2"]
    assert rules("pipeline=orders&rule=r2") == ["r2"]
    assert rules("pipeline=orders&field=tailnum") == ["r1", "r3"]


def test_a_sorted_list_keeps_its_filter_on_the_next_page(as_, alices, orders, warehouse, table):
    returns = save(alices, "returns", table)
    for number in range(30):
        for pipeline, rule in ((returns, "b"), (orders, "a")):
            keep(warehouse, pipeline, table, rule, status="ignored" if number else "open", rowId=f"{rule}{number}")
    address, seen = f"{ERRORS}rows/?status=ignored&sort=-pipeline", list[str]()
    while address:
        page = as_("viewer").get(address).content.decode()
        seen += re.findall(r'rows/[\w-]+/(\w+)/"', page)
        following = re.search(r'href="(\?[^"]*cursor=[^"]*)">Next', page)
        address = f"{ERRORS}rows/{unescape(following[1])}" if following else ""
    assert seen == [f"{rule}{number}" for rule in "ba" for number in range(29, 0, -1)]


@pytest.mark.parametrize(
    ("filters", "columns"),
    [
        ("status=open", {"pipeline", "rule", "rejected"}),
        ("pipeline=orders", {"rule", "rejected"}),
        ("field=f", {"rejected"}),
    ],
)
def test_only_what_an_index_serves_can_be_sorted_by(as_, orders, warehouse, table, run, filters, columns):
    keep(warehouse, orders, table, "r1", run, field="f")
    page = as_("viewer").get(f"{ERRORS}rows/?{filters}").content.decode()
    assert set(re.findall(r'class="sort-link" href="\?[^"]*sort=-?(\w+)', page)) == columns


def test_the_page_of_rows_without_a_filter_shows_the_counts(as_, workspace):
    assert as_("viewer").get(f"{ERRORS}rows/")["Location"] == ERRORS


def test_no_rows_says_why_there_may_be_none(as_, orders, run):
    assert "No rejected rows" in words(as_("viewer").get(f"{ERRORS}rows/?run={run.pk}"))


def test_a_row_is_shown_in_full_with_all_rules_that_it_failed(as_, orders, warehouse, table, run):
    row = {"id": 1, "tailnum": "", "distance": None, "note": "kept <b>as is</b>"}
    keep(warehouse, orders, table, "r1", run, field="tailnum", row=row)
    for rule in ("r2", "r3"):
        keep(warehouse, orders, table, rule, run, field="absent", row=row, nodeId=f"after-{rule}")
    page = as_("editor").get(f"{ERRORS}rows/{run.pk}/r1-0/")
    text = words(page)

    assert "tailnum is NULL rule r1 in node check" in text
    assert "tailnumfails empty text" in text.replace(" fails", "fails")
    assert "distance NULL" in text
    assert "note kept <b>as is</b>" in text
    assert "File a.csv Record 7" in text
    assert f"/w/alices-team/runs/{run.pk}/" in page.content.decode()


def test_the_field_that_a_transform_renamed_is_marked(as_, orders, warehouse, table, run):
    keep(warehouse, orders, table, "r1", run, field="destination", row={"dest": "", "origin": "JFK"})
    page = words(as_("editor").get(f"{ERRORS}rows/{run.pk}/r1-0/"))

    assert "destination is NULL" in page
    assert "dest fails empty text origin JFK" in page
    assert "origin JFK dest empty text" in words(as_("editor").get(f"{ERRORS}rows/?run={run.pk}"))


def test_all_fields_that_a_derived_one_is_made_of_are_marked(as_, orders, warehouse, table, run):
    keep(warehouse, orders, table, "r1", run, field="delay_hours", row={"origin": "JFK", "dep_delay": "1000"})
    assert "dep_delay fails 1000 origin JFK" in words(as_("editor").get(f"{ERRORS}rows/{run.pk}/r1-0/"))


def test_a_row_as_it_reached_the_node_has_the_field_of_the_rule(as_, orders, warehouse, table, run):
    row = {"dest": "a", "destination": "b"}
    keep(warehouse, orders, table, "r1", run, field="destination", row=row, rowFrom="input")
    assert "destination fails b dest a" in words(as_("editor").get(f"{ERRORS}rows/{run.pk}/r1-0/"))


def test_a_rejected_group_says_which_rows_it_has(as_, orders, warehouse, table, run):
    first = [{"file": name, "hash": "0" * 64, "record": record} for name, record in (("a", 7), ("a", 9), ("b", 2))]
    row = {"country": "DE", "_flow_group": {"rows": 1200, "first": first}}
    keep(warehouse, orders, table, "r1", run, field="country", row=row, rowFrom="group")
    page = words(as_("editor").get(f"{ERRORS}rows/{run.pk}/r1-0/"))

    assert "Group of 1,200 rows, the first from a record 7, 9; b record 2" in page
    assert "The row that stands for a group Field Value country fails DE" in page
    assert "_flow_group" not in page


def test_a_column_that_a_transform_made_is_not_shown_as_null(as_, orders, warehouse, table, run):
    keep(warehouse, orders, table, "r1", run, field="amount", row={"Amount €": "-1"})
    page = words(as_("editor").get(f"{ERRORS}rows/{run.pk}/r1-0/"))

    assert "fails not in the stored row Amount € -1" in page
    assert "1 row in total." in words(as_("editor").get(f"{ERRORS}rows/?run={run.pk}"))


@pytest.mark.parametrize(("first_line", "reported"), [(2, "Record 7 (line 8)"), (None, "Record 7 Outcome")])
def test_the_line_of_a_record_is_reported_where_it_is_known(as_, orders, warehouse, table, run, first_line, reported):
    keep(warehouse, orders, table, "r1", run, row={"id": 1})
    LoadUnit.objects.create(
        workspace=orders.workspace,
        pipeline=orders,
        run=run,
        node="src",
        sha256="a" * 64,
        name="a.csv",
        size=1,
        rows=9,
        first_line=first_line,
        changed_at=run.queued_at,
    )
    assert reported in words(as_("editor").get(f"{ERRORS}rows/{run.pk}/r1-0/"))


def test_the_list_reports_rows_apart_by_the_value_that_fails_and_by_first_fields(as_, orders, warehouse, table, run):
    tell_fields(warehouse, orders, str(run.pk), ["tailnum", "order_no", "id"])
    for rule, value in (("r1", None), ("r2", ""), ("r3", "NULL"), ("r4", "x" * 5000)):
        keep(warehouse, orders, table, rule, run, field="tailnum", row={"id": 7, "tailnum": value, "order_no": rule})
    keep(warehouse, orders, table, "r5", run, field="absent", row={"id": 8})
    keep(warehouse, orders, table, "r6", run, field=None, row={"id": 9})
    fixed = '{"id": 10, "tailnum": "N1"}'
    keep(warehouse, orders, table, "r7", run, field="tailnum", row={"id": 10, "tailnum": None}, fixedRow=fixed)
    page = words(as_("editor").get(f"{ERRORS}rows/?run={run.pk}"))

    assert "violates r1 order_no r1 · id 7 tailnum NULL r1" in page
    assert "violates r2 order_no r2 · id 7 tailnum empty text r2" in page
    assert "violates r3 order_no r3 · id 7 tailnum NULL r3" in page
    assert "<em>NULL</em>" in as_("editor").get(f"{ERRORS}rows/?run={run.pk}&rule=r1").content.decode()
    assert "<em>NULL</em>" not in as_("editor").get(f"{ERRORS}rows/?run={run.pk}&rule=r3").content.decode()
    assert f"tailnum {'x' * 80}… cut r4" in page
    assert "x" * 81 not in page
    assert "violates r5 id 8 absent not in the stored row r5" in page
    assert "violates r6 id 9 – r6" in page
    assert "tailnum NULL fixed: N1 r7" in page


def test_no_more_of_rows_is_read_for_a_list_than_it_shows(as_, orders, warehouse, table, run, monkeypatch):
    row = {"id": 1, "tailnum": "x" * 100_000, **{f"c{n}": "y" * 100_000 for n in range(20)}}
    keep(warehouse, orders, table, "r1", run, field="tailnum", row=row, n=3)
    read = []
    reported = selectors._with_table
    monkeypatch.setattr(
        selectors, "_with_table", lambda place, entries: read.extend(entries) or reported(place, entries)
    )
    page = as_("editor").get(f"{ERRORS}rows/?run={run.pk}").content.decode()

    assert "15 more fields" in page
    assert len(read) == 3
    assert len(str(read)) < 12_000
    assert "xxx" in str(read)
    read.clear()
    as_("viewer").get(f"{ERRORS}rows/?run={run.pk}")
    assert len(read) == 3
    assert "xxx" not in str(read)


def test_a_viewer_sees_the_position_of_a_row_and_no_values(as_, orders, warehouse, table, run):
    keep(warehouse, orders, table, "r1", run, field="tailnum", row={"tailnum": "SECRET-VALUE"})
    client = as_("viewer")
    listed, shown = client.get(f"{ERRORS}rows/?run={run.pk}"), client.get(f"{ERRORS}rows/{run.pk}/r1-0/")

    assert "a.csv" in words(listed)
    assert "File a.csv Record 7" in words(shown)
    assert "Your role, viewer, cannot see values of rejected rows" in words(shown)
    for answer in (listed, shown):
        assert "SECRET-VALUE" not in answer.content.decode()


def test_rows_are_not_cached(as_, orders, warehouse, table, run):
    keep(warehouse, orders, table, "r1", run)

    assert "no-store" in as_("editor").get(f"{ERRORS}rows/{run.pk}/r1-0/")["Cache-Control"]


def test_a_row_that_is_not_there_is_not_found(as_, orders, run):
    assert as_("editor").get(f"{ERRORS}rows/{run.pk}/none/").status_code == 404


def test_rows_of_another_workspace_are_not_there(as_, orders, warehouse, table, run):
    """Not by the run's id, nor through a pipeline of the same id that shares the table."""
    keep(warehouse, orders, table, "r1", run, row={"tailnum": "SECRET-VALUE"})
    client, theirs = as_("stranger"), ERRORS.replace("alices-team", "bobs-team")
    save(connect_to(ensure_workspace("bobs-team"), warehouse), "orders", table)

    assert client.get(f"{theirs}rows/?run={run.pk}").status_code == 404
    assert client.get(f"{theirs}rows/{run.pk}/r1-0/").status_code == 404
    assert "No rejected rows" in words(client.get(f"{theirs}rows/?pipeline=orders"))


def test_values_names_and_messages_do_no_harm(as_, orders, warehouse, table, run):
    keep(
        warehouse,
        orders,
        table,
        HOSTILE,
        run,
        field=HOSTILE,
        message=HOSTILE,
        sourceFile=HOSTILE,
        row={HOSTILE: HOSTILE, "other": [HOSTILE]},
    )
    count(run, HOSTILE, HOSTILE)
    client = as_("editor")

    assert_harmless(client.get(ERRORS))
    assert_harmless(client.get(f"{ERRORS}rows/?run={run.pk}"))
    assert_harmless(client.get(f"{ERRORS}rows/?pipeline=orders&rule={quote(HOSTILE)}&field={quote(HOSTILE)}"))
    assert_harmless(client.get(f"{ERRORS}rows/{run.pk}/{quote(HOSTILE + '-0')}/"))
