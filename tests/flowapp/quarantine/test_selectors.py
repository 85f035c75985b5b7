"""Listing rejected rows from the tables that keep them."""

from __future__ import annotations

import pytest

from executors.errors import Failure
from executors.target_database import EntryOrder, Rejects
from flowapp.accounts.services import ensure_workspace
from flowapp.pipelines.models import PipelineVersion
from flowapp.quarantine.choosing import key_of_entry
from flowapp.quarantine.reject_tables import reject_tables_of
from flowapp.quarantine.selectors import EntryFilter, list_entries_of_row, page_entries, page_filtered
from flowapp.runs.models import Trigger
from flowapp.runs.services import queue_run
from ir.errors import FlowError
from tests.flowapp.quarantine.keeping import connect_to, keep, list_entries, save, tell_fields

pytestmark = pytest.mark.django_db


def test_entries_contain_rule_row_and_position(alices, orders, warehouse, schema):
    keep(warehouse, orders, f'{schema}."My Orders"', "r1")

    [entry] = list_entries(alices, pipeline=orders)
    assert (entry["ruleId"], entry["row"], entry["sourceFile"], entry["sourceRecord"]) == ("r1", {"id": 1}, "a.csv", 7)
    assert (entry["table"], entry["connection"], entry["status"]) == (f"{schema}.My Orders", "warehouse", "open")


def test_the_values_of_a_row_are_in_the_order_of_its_source(alices, orders, warehouse, schema):
    run = queue_run(orders, Trigger.CLI, send=False)
    keep(warehouse, orders, f'{schema}."My Orders"', "r1", run, row={"a": 1, "more": 2, "order_id": 3})
    tell_fields(warehouse, orders, str(run.pk), ["order_id", "a"])

    [entry] = list_entries_of_row(alices, run, "r1-0")
    assert list(entry["row"]) == ["order_id", "a", "more"]


def test_a_number_that_two_tables_have_is_reported_with_the_pipelines_of_its_rows(alices, orders, warehouse, schema):
    ours = keep(warehouse, orders, f'{schema}."My Orders"', "r1")
    theirs = keep(warehouse, save(alices, "others", f"{schema}.others"), f"{schema}.others", "r1")
    keys = [f"{ours}:r1-0 (of orders)", f"{theirs}:r1-0 (of others)"]
    (number,) = {entry["id"] for entry in list_entries(alices)}
    with pytest.raises(FlowError) as caught:
        key_of_entry(alices, str(number))
    assert caught.value.hint == f"Name the row by its key: {', '.join(sorted(keys))}."


def test_a_table_that_was_never_needed_holds_nothing(alices, orders):
    assert list_entries(alices) == []


def test_entries_are_found_by_rule(alices, orders, warehouse, schema):
    for rule in ("r1", "r2"):
        keep(warehouse, orders, f'{schema}."My Orders"', rule)

    assert [entry["ruleId"] for entry in list_entries(alices, rule="r2")] == ["r2"]


def test_entries_are_found_by_run_even_after_the_pipeline_keeps_them_elsewhere(alices, orders, warehouse, schema):
    run = queue_run(orders, Trigger.CLI, send=False)
    keep(warehouse, orders, f'{schema}."My Orders"', "old", run)
    moved = save(alices, "orders", f"{schema}.elsewhere")
    keep(warehouse, moved, f"{schema}.elsewhere", "new")

    assert [entry["ruleId"] for entry in list_entries(alices, run=run)] == ["old"]


def test_what_an_older_version_rejected_stays_in_the_list_until_its_connection_is_removed(
    alices, orders, warehouse, schema
):
    keep(warehouse, orders, f'{schema}."My Orders"', "old")
    moved = save(alices, "orders", f"{schema}.elsewhere")
    keep(warehouse, moved, f"{schema}.elsewhere", "new")

    assert [entry["ruleId"] for entry in list_entries(alices, pipeline=moved)] == ["new", "old"]
    assert [entry["ruleId"] for entry in list_entries(alices)] == ["new", "old"]
    PipelineVersion.objects.filter(number=1).update(quarantines=[["removed", f"{schema}.elsewhere"]])
    assert [entry["ruleId"] for entry in list_entries(alices)] == ["new"]


def test_however_many_pipelines_there_are_no_document_is_read_to_find_where_their_rows_are(
    alices, orders, schema, django_assert_num_queries
):
    for number in range(3):
        save(alices, f"other{number}", f"{schema}.others")

    with django_assert_num_queries(3):
        assert len(reject_tables_of(alices, None, None)) == 4


def test_a_table_shared_by_pipelines_gives_each_its_own(alices, orders, warehouse, schema):
    returns = save(alices, "returns", f'{schema}."My Orders"')
    keep(warehouse, orders, f'{schema}."My Orders"', "r1")
    keep(warehouse, returns, f'{schema}."My Orders"', "r2")

    assert [entry["ruleId"] for entry in list_entries(alices, pipeline=orders)] == ["r1"]
    assert [entry["ruleId"] for entry in list_entries(alices)] == ["r2", "r1"]


def test_a_table_is_asked_once_however_many_pipelines_share_it(alices, orders, schema, monkeypatch):
    for number in range(3):
        save(alices, f"other{number}", f'{schema}."My Orders"')
    asked, page = [], Rejects.page
    monkeypatch.setattr(
        Rejects, "page", lambda self, owners, *rest, **more: asked.append(owners) or page(self, owners, *rest, **more)
    )
    list_entries(alices)
    assert [owners.pipelines for owners in asked] == [("orders", "other0", "other1", "other2")]


def test_entries_of_a_pipeline_that_the_workspace_does_not_have_are_not_shown(alices, orders, warehouse, schema):
    save(alices, "returns", f'{schema}."My Orders"')
    keep(warehouse, orders, f'{schema}."My Orders"', "ours")
    keep(warehouse, orders, f'{schema}."My Orders"', "gone", pipelineId="deleted")

    assert [entry["ruleId"] for entry in list_entries(alices)] == ["ours"]


def test_entries_of_several_tables_are_grouped_together(alices, orders, warehouse, schema):
    returns = save(alices, "returns", f"{schema}.returns")
    for rule, pipeline, table in (("b", orders, '"My Orders"'), ("a", returns, "returns"), ("b", returns, "returns")):
        keep(warehouse, pipeline, f"{schema}.{table}", rule, n=3)
    seen, cursor, order = [], "", EntryOrder("rule")
    while True:
        page = page_filtered(alices, EntryFilter(), order=order, cursor=cursor, limit=2)
        seen += [(entry["ruleId"], entry["pipelineId"], entry["rowId"]) for entry in page.entries]
        if not (cursor := page.next):
            break
    by_group = [("a", "returns"), ("b", "returns"), ("b", "orders")]
    assert seen == [(rule, pipeline, f"{rule}-{i}") for rule, pipeline in by_group for i in (2, 1, 0)]


def test_the_newest_entries_come_first_up_to_the_limit(alices, orders, warehouse, schema):
    keep(warehouse, orders, f'{schema}."My Orders"', "r1", n=5)

    assert [entry["rowId"] for entry in list_entries(alices, limit=2)] == ["r1-4", "r1-3"]


def test_an_unreachable_database_is_an_error_and_not_an_empty_list(alices, orders, warehouse):
    alices.connections.update(port=1)

    with pytest.raises(Failure) as caught:
        list_entries(alices)
    assert caught.value.code == "target.unreachable"


def test_another_workspace_sees_nothing(alices, orders, warehouse, schema):
    keep(warehouse, orders, f'{schema}."My Orders"', "r1")

    assert list_entries(ensure_workspace("bobs")) == []


def test_a_table_shared_with_a_pipeline_of_the_same_id_elsewhere_gives_only_our_own(alices, orders, warehouse, schema):
    table = f'{schema}."My Orders"'
    theirs = save(connect_to(ensure_workspace("bobs"), warehouse), "orders", table)
    keep(warehouse, orders, table, "ours")
    keep(warehouse, theirs, table, "theirs", n=3)

    assert [entry["ruleId"] for entry in list_entries(alices, limit=2)] == ["ours"]
    assert {entry["ruleId"] for entry in list_entries(theirs.workspace)} == {"theirs"}


def test_entries_of_another_workspace_are_not_shown(alices, orders, warehouse, schema):
    keep(warehouse, orders, f'{schema}."My Orders"', "r1", tenant="00000000-0000-4000-8000-000000000001")

    assert list_entries(alices) == []


def test_pages_give_every_entry_of_all_tables_once_and_newest_first(alices, orders, warehouse, schema):
    returns = save(alices, "returns", f"{schema}.returns")
    for rule, pipeline, table in (
        ("o", orders, '"My Orders"'),
        ("r", returns, "returns"),
        ("p", orders, '"My Orders"'),
    ):
        keep(warehouse, pipeline, f"{schema}.{table}", rule, n=5)
    seen, cursor = [], ""
    while True:
        page = page_entries(alices, cursor=cursor, limit=4)
        seen += page.entries
        if not (cursor := page.next):
            break

    assert [entry["rowId"] for entry in seen] == [f"{rule}-{i}" for rule in "pro" for i in reversed(range(5))]


def test_a_cursor_that_makes_no_sense_gives_the_first_page(alices, orders, warehouse, schema):
    keep(warehouse, orders, f'{schema}."My Orders"', "r1")

    for cursor in ("nonsense", "W10", "eyJhIjogIngifQ"):
        assert len(page_entries(alices, cursor=cursor).entries) == 1
