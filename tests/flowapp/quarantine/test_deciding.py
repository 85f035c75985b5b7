"""Fixing, ignoring and undoing either: only rows that nobody has changed, and recorded without values."""

from __future__ import annotations

import pytest

from executors.errors import Failure
from executors.model import Connection
from flowapp.pipelines.services import create_pipeline
from flowapp.quarantine import deciding, selectors
from flowapp.quarantine.choosing import choose_alike, choose_by_keys
from flowapp.quarantine.deciding import decide
from flowapp.quarantine.models import RowDecision, Selection
from flowapp.quarantine.selectors import EntryFilter
from flowapp.runs.holds import Decider
from ir.errors import FlowError
from tests.flowapp.quarantine.keeping import keep, list_entries, save

pytestmark = pytest.mark.django_db

ANN, BOB = Decider("ann"), Decider("bob")


@pytest.fixture
def table(schema) -> str:
    return f'{schema}."My Orders"'


@pytest.fixture
def stored_keys(alices, orders, warehouse: Connection, table):
    """Store three rejected rows of one run, the first with two entries; return their keys."""
    run = keep(warehouse, orders, table, "r1", n=3, row={"id": "1", "name": None}, field="name")
    keep(warehouse, orders, table, "r2", run, rowId="r1-0", row={"id": "1", "name": None})
    return [f"{run}:r1-{n}" for n in range(3)]


def now(alices, key: str) -> list[tuple[str, object, str | None]]:
    return [(e["status"], e["fixedRow"], e["fixedBy"]) for e in list_entries(alices) if e["key"] == key]


def fix(alices, key: str, by: Decider = ANN, selection=None, **cells: str | None):
    chosen = selection or choose_by_keys(alices, [key], by)
    return decide(chosen, "fix", by, cells={tuple(key.split(":")): cells})


def test_a_fixed_value_replaces_the_original_in_every_entry_of_the_row(alices, stored_keys):
    assert fix(alices, stored_keys[0], name="Bob").changed == 1
    assert now(alices, stored_keys[0]) == [("fixed", {"id": "1", "name": "Bob"}, "ann")] * 2
    assert {str(e["row"]) for e in list_entries(alices)} == {"{'id': '1', 'name': None}"}
    assert now(alices, stored_keys[1]) == [("open", None, None)]


def test_a_group_of_rows_is_not_fixed(alices, orders, warehouse: Connection, table):
    run = keep(warehouse, orders, table, "r3", row={"id": "1"}, rowFrom="group")
    with pytest.raises(FlowError) as refused:
        fix(alices, f"{run}:r3-0", id="2")
    assert refused.value.code == "fix.of_group"
    assert now(alices, f"{run}:r3-0") == [("open", None, None)]


def test_fixes_add_up_and_can_be_taken_back(alices, stored_keys):
    fix(alices, stored_keys[0], name="Bob")
    fix(alices, stored_keys[0], id="2")
    assert now(alices, stored_keys[0])[0][1] == {"id": "2", "name": "Bob"}
    assert decide(choose_by_keys(alices, stored_keys[:1], ANN), "revert", ANN).changed == 1
    assert now(alices, stored_keys[0])[0] == ("open", None, None)


def test_of_two_concurrent_edits_of_a_row_the_second_changes_nothing(alices, stored_keys):
    seen_by_bob = choose_by_keys(alices, stored_keys[:1], BOB)
    fix(alices, stored_keys[0], name="Ann's")
    done = fix(alices, stored_keys[0], BOB, seen_by_bob, name="Bob's")
    assert (done.changed, done.excluded) == (0, 1)
    assert now(alices, stored_keys[0])[0][1] == {"id": "1", "name": "Ann's"}


def test_ignoring_needs_a_reason_and_can_be_taken_back(alices, stored_keys):
    with pytest.raises(FlowError) as caught:
        decide(choose_by_keys(alices, stored_keys, ANN), "ignore", ANN, "  ")
    assert caught.value.code == "reason.required"
    assert decide(choose_by_keys(alices, stored_keys, ANN), "ignore", ANN, "100% test data, %s").changed == 3
    assert {e["status"] for e in list_entries(alices)} == {"ignored"}
    assert {e["reason"] for e in list_entries(alices)} == {"100% test data, %s"}
    assert decide(choose_by_keys(alices, stored_keys, ANN), "reopen", ANN).changed == 3
    assert {e["status"] for e in list_entries(alices)} == {"open"}


def test_a_row_that_was_loaded_is_not_fixed(alices, orders, warehouse, table):
    run = keep(warehouse, orders, table, "r1", disposition="loaded")
    assert fix(alices, f"{run}:r1-0", id="2").changed == 0


def test_what_is_put_in_must_be_a_field_and_a_value(alices, stored_keys):
    with pytest.raises(FlowError, match=r"fix\.field_unknown"):
        fix(alices, stored_keys[0], nonsense="x")
    with pytest.raises(FlowError, match=r"fix\.value_unusable"):
        fix(alices, stored_keys[0], name="a\0b")


def test_decisions_are_stored_without_values(alices, stored_keys):
    fix(alices, stored_keys[0], name="SECRET")
    decide(choose_by_keys(alices, stored_keys, ANN), "ignore", ANN, "100% test data, %s")
    noted = list(RowDecision.objects.order_by("at"))
    assert [(d.action, d.rows, d.excluded, d.by_words, d.reason) for d in noted] == [
        ("fix", 1, 0, "ann", ""),
        ("ignore", 3, 0, "ann", "100% test data, %s"),
    ]
    assert noted[0].details["fields"] == ["name"]
    assert "SECRET" not in str([d.details for d in noted])


def test_what_one_table_took_is_noted_where_another_refuses(workspace, monkeypatch):
    def take(part: str, *_: object) -> int:
        if part == "second":
            raise FlowError("fix.field_unknown", "The rows have no field 'name'.")
        return 1

    monkeypatch.setattr(deciding, "reach_parts", lambda _: ["first", "second"])
    monkeypatch.setattr(deciding, "_decide", take)
    chosen = Selection(workspace=workspace, pipeline=create_pipeline(workspace, "orders"), rows=2)
    with pytest.raises(FlowError, match="no field"):
        decide(chosen, "fix", ANN, cells={("run", "row"): {"name": "Bob"}, ("run", "other"): {"name": "Bob"}})
    noted = RowDecision.objects.get()
    assert (noted.action, noted.rows, noted.excluded) == ("fix", 1, 1)


def test_rows_are_chosen_by_what_they_have_in_common_and_stay_as_chosen(alices, orders, warehouse, table, stored_keys):
    chosen = choose_alike(alices, EntryFilter(pipeline=orders, rule="r1", search="name"), ANN)
    keep(warehouse, orders, table, "r1", n=2)
    assert (chosen.rows, chosen.is_whole) == (3, True)
    assert chosen.filters == {"pipeline": "orders", "rule": "r1", "searched": True}
    assert decide(chosen, "ignore", ANN, "100% test data, %s").changed == 3


def test_rows_of_many_runs_are_found_by_one_session_for_each_connection(
    alices, orders, warehouse, table, stored_keys, schema, monkeypatch
):
    keys = [*stored_keys, f"{keep(warehouse, orders, table, 'r1')}:r1-0"]
    moved = save(alices, "orders", f"{schema}.elsewhere")
    keys += [f"{keep(warehouse, moved, f'{schema}.elsewhere', 'r1')}:r1-0" for _ in range(2)]
    sessions, open_rejects = [], selectors.open_rejects

    def counted(*args, **more):
        sessions.append(args)
        return open_rejects(*args, **more)

    monkeypatch.setattr(selectors, "open_rejects", counted)
    chosen = choose_by_keys(alices, keys, ANN)
    assert (chosen.rows, len(chosen.parts), len(sessions)) == (6, 2, 1)


def test_rows_of_others_cannot_be_chosen(alices, stored_keys, django_user_model):
    from flowapp.accounts.services import ensure_workspace

    with pytest.raises(FlowError, match=r"run\.unknown"):
        choose_by_keys(ensure_workspace("bobs"), stored_keys, BOB)
    with pytest.raises(FlowError, match=r"errors\.unknown"):
        choose_by_keys(alices, [stored_keys[0].replace("r1-0", "r1-9")], ANN)


def test_a_database_that_is_down_is_reported(alices, stored_keys):
    chosen = choose_by_keys(alices, stored_keys, ANN)
    alices.connections.update(port=1)
    with pytest.raises(Failure, match=r"target\.unreachable"):
        decide(chosen, "ignore", ANN, "100% test data, %s")
