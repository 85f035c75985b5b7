"""What becomes of changes of columns: found, decided, applied or withdrawn."""

from __future__ import annotations

import pytest

from executors.load_record import LoadCommit, LoadRecord, TableIdentity
from flowapp.runs.models import Run, RunKind
from flowapp.schema_changes.models import ColumnChange
from flowapp.schema_changes.selectors import accepted_changes, rejected_changes
from flowapp.schema_changes.services import accept_changes, note_followed, open_changes, reject_changes
from ir.errors import FlowError

from .conftest import ADD, KEY, WIDEN, alerts, states

pytestmark = pytest.mark.django_db


def commit(*changes) -> LoadCommit:
    table = TableIdentity("public", "numbers", 1)
    return LoadCommit("r", "load", 1, table, record=LoadRecord(schema_changes=changes))


def test_a_found_change_waits_once_and_raises_an_alert(find):
    find(ADD)
    (change,) = find(ADD)
    assert (change.state, change.run.number, change.sources) == ("pending", 2, "files")
    assert alerts() == ["open"]


def test_an_accepted_change_is_handed_to_the_next_load_of_its_target_alone(find):
    (change,) = find(ADD)
    accept_changes([change], "ann@example.com", reason="agreed")
    run = Run.objects.latest("number")
    assert accepted_changes(run) == {"load": {ADD.id}}
    run.kind = RunKind.PREVIEW
    assert accepted_changes(run) == {}
    assert alerts() == ["resolved"]


def test_a_load_that_follows_a_change_closes_it_and_reporting_it_twice_changes_nothing(find):
    (change,) = find(ADD)
    accept_changes([change], "ann@example.com")
    run = Run.objects.latest("number")
    for _ in range(2):
        note_followed(run, commit(ADD, WIDEN))
    assert states() == {"add": "applied", "widen": "applied"}
    assert ColumnChange.objects.count() == 2


def test_a_change_that_the_source_no_longer_has_is_withdrawn(find):
    find(ADD)
    find(WIDEN)
    assert states() == {"add": "withdrawn", "widen": "pending"}
    note_followed(Run.objects.latest("number"), commit())
    assert states() == {"add": "withdrawn", "widen": "withdrawn"}
    assert alerts() == ["resolved"]


def test_a_rejected_change_stays_rejected_until_a_person_accepts_it(find):
    (change,) = find(ADD)
    with pytest.raises(FlowError, match=r"reason\.required"):
        reject_changes([change], "ann@example.com", reason=" ")
    reject_changes([change], "ann@example.com", reason="wrong file")
    find(ADD)
    assert (states(), alerts()) == ({"add": "rejected"}, ["resolved"])
    run = Run.objects.latest("number")
    assert (rejected_changes(run), accepted_changes(run)) == ({"load": {ADD.id}}, {})
    accept_changes([change], "bob@example.com")
    assert states() == {"add": "accepted"}


def test_a_change_that_nobody_can_accept_is_recorded_and_never_offered(find, pipeline):
    (change,) = find(KEY)
    assert (change.state, change.why_not, open_changes(pipeline)) == ("refused", "A key is never changed.", [])
    with pytest.raises(FlowError, match=r"schema\.change_decided"):
        accept_changes([change], "ann@example.com")


def test_all_changes_are_decided_or_none(find):
    add, widen = find(ADD, WIDEN)
    accept_changes([add], "ann@example.com")
    with pytest.raises(FlowError, match=r"schema\.change_decided"):
        accept_changes([add, widen], "bob@example.com")
    assert states() == {"add": "accepted", "widen": "pending"}
    assert alerts() == ["open"]


def test_an_accepted_change_is_not_followed_by_a_load_of_another_table(find):
    (change,) = find(ADD)
    accept_changes([change], "ann@example.com")
    ColumnChange.objects.update(table="before")  # then the target is moved to the table `numbers`
    assert accepted_changes(Run.objects.latest("number")) == {}
    before, now = find(ADD)
    assert [(one.table, one.state) for one in (before, now)] == [("before", "withdrawn"), ("numbers", "pending")]


def test_the_start_of_an_id_chooses_a_single_change(find, pipeline):
    add, widen = find(ADD, WIDEN)
    assert open_changes(pipeline, [str(add.pk)]) == [add]
    assert set(open_changes(pipeline, [str(add.pk), str(widen.pk)])) == {add, widen}
    with pytest.raises(FlowError, match="2 undecided changes"):
        open_changes(pipeline, [""])
