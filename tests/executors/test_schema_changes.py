"""Which differences of columns there are, and which of them a load follows."""

from __future__ import annotations

import pytest

from executors.errors import Terminal
from executors.model import Destination, DestinationColumn, SourceField
from executors.schema_changes import (
    Arriving,
    SchemaChange,
    SchemaRefused,
    compare,
    decide,
    evolved,
    still_needed,
    typed,
)
from ir.types import ColumnType


def fields(**types: str) -> tuple[SourceField, ...]:
    return tuple(SourceField(name, ColumnType.parse(kind)) for name, kind in types.items())


def table(**types: str) -> Destination:
    columns = tuple(
        DestinationColumn(name, typed(kind), kind, base=kind.partition("(")[0]) for name, kind in types.items()
    )
    return Destination("public", "t", columns)


def arriving(previous: tuple[SourceField, ...] = (), **types: str) -> Arriving:
    return Arriving(fields(**types), fields(**types), previous)


def kinds(changes):
    return [(change.kind, change.column, change.before, change.after) for change in changes]


def test_equal_columns_in_another_order_are_no_change():
    assert compare(arriving(name="string", id="integer"), table(id="integer", name="text")) == ()


def test_a_column_that_the_table_lacks_is_added():
    found = compare(arriving(id="integer", at="timestamp"), table(id="integer"))
    assert kinds(found) == [("add", "at", "", "timestamp without time zone")]


def test_a_column_of_the_last_load_that_no_longer_arrives_is_dropped():
    found = compare(arriving(fields(id="integer", old="string"), id="integer"), table(id="integer", old="text"))
    assert kinds(found) == [("drop", "old", "text", "")]


def test_a_column_that_never_arrived_is_not_dropped():
    assert compare(arriving(fields(id="integer"), id="integer"), table(id="integer", note="text")) == ()


def test_a_type_that_grew_widens_the_column():
    assert kinds(compare(arriving(id="bigint"), table(id="integer"))) == [("widen", "id", "integer", "bigint")]


def test_a_type_that_the_column_holds_is_no_change_without_a_last_load():
    assert compare(arriving(id="integer"), table(id="bigint")) == ()


@pytest.mark.parametrize(
    ("before", "now", "column"), [("bigint", "integer", "bigint"), ("integer", "float", "integer")]
)
def test_a_type_that_shrank_or_does_not_fit_is_narrowed(before, now, column):
    found = compare(arriving(fields(n=before), n=now), table(n=column))
    assert [(change.kind, change.column) for change in found] == [("narrow", "n")]


def test_values_that_arrive_as_text_have_no_type_that_could_change():
    text = (SourceField("n", ColumnType("string"), as_text=True),)
    known = Arriving(text, text, fields(n="integer"))
    assert compare(known, table(n="integer")) == ()


def test_a_type_that_the_document_declares_is_no_change_of_the_source():
    known = Arriving(fields(n="integer"), fields(n="integer"), fields(n="bigint"), declared={"n"})
    assert compare(known, table(n="bigint")) == ()


def test_a_declared_rename_is_found_until_it_is_made():
    known = Arriving(fields(new="string"), renamed={"new": "old"}, previous=fields(old="string"))
    found = compare(known, table(old="text"))
    assert kinds(found) == [("rename", "new", "old", "new")]
    assert compare(known, evolved(table(old="text"), found)) == ()


def test_a_rename_whose_old_column_still_arrives_cannot_be_followed():
    known = Arriving(fields(new="string", old="string"), renamed={"new": "old"})
    with pytest.raises(SchemaRefused, match="still has 'old'") as refused:
        decide(compare(known, table(old="text")), "evolve", (), "public.t", "load")
    assert not refused.value.open


def test_another_key_than_those_of_the_table_is_refused_under_each_policy_that_follows_changes():
    dest = Destination("public", "t", table(id="integer", region="text").columns, (frozenset({"id"}),))
    known = Arriving(fields(id="integer", region="string"), key=("id", "region"))
    for policy in ("evolve", "ask"):
        with pytest.raises(SchemaRefused, match="unique keys") as refused:
            decide(compare(known, dest), policy, [change.id for change in compare(known, dest)], "public.t", "load")
        assert (refused.value.code, refused.value.open) == ("schema.incompatible", frozenset())


ADD = SchemaChange("add", "x", "", "text")
NARROW = SchemaChange("narrow", "n", "bigint", "integer", why_not="…")


def test_evolve_follows_what_is_exact_and_ask_waits_for_each_change():
    assert decide([ADD], "evolve", (), "public.t", "load") == (ADD,)
    with pytest.raises(SchemaRefused) as refused:
        decide([ADD], "ask", (), "public.t", "load")
    assert (refused.value.code, refused.value.open) == ("schema.change_pending", {ADD.id})
    assert decide([ADD], "ask", {ADD.id}, "public.t", "load") == (ADD,)


def test_an_acceptance_covers_only_the_change_that_was_seen():
    other = SchemaChange("add", "x", "", "integer")
    with pytest.raises(SchemaRefused):
        decide([other], "ask", {ADD.id}, "public.t", "load")


def test_freeze_follows_only_what_was_accepted():
    assert decide([ADD, NARROW], "freeze", (), "public.t", "load") == ()
    assert decide([ADD, NARROW], "freeze", {ADD.id}, "public.t", "load") == (ADD,)


@pytest.mark.parametrize("policy", ["evolve", "ask"])
def test_a_narrowed_type_needs_a_person_under_each_policy(policy):
    with pytest.raises(Terminal) as refused:
        decide([NARROW], policy, (), "public.t", "load")
    assert (refused.value.code, refused.value.node) == ("schema.incompatible", "load")
    assert "Cast the column" in refused.value.hint
    assert decide([NARROW], policy, {NARROW.id}, "public.t", "load") == (NARROW,)


def test_a_name_that_differs_only_in_case_is_not_added_without_a_decision():
    found = compare(arriving(Name="string"), table(name="text"))
    with pytest.raises(SchemaRefused, match="upper and lower case") as refused:
        decide(found, "evolve", (), "public.t", "load")
    assert refused.value.open == {found[0].id}


def test_a_column_that_the_table_computes_is_no_difference():
    column = DestinationColumn("total", ColumnType("integer"), "integer", generated=True)
    assert compare(arriving(total="bigint"), Destination("public", "t", (column,))) == ()


def test_changes_that_another_load_has_made_are_not_needed():
    widen = SchemaChange("widen", "id", "integer", "bigint")
    now = evolved(table(id="integer"), [ADD])
    assert still_needed(now, [ADD, widen]) == [widen]


@pytest.mark.parametrize("policy", ["ask", "evolve"])
def test_a_rejected_change_stays_rejected_under_each_policy_until_it_is_accepted(policy):
    with pytest.raises(SchemaRefused, match=r"schema\.change_rejected") as refused:
        decide([ADD], policy, (), "public.t", "load", {ADD.id})
    assert refused.value.open == {ADD.id}
    assert ADD.sentence in refused.value.message
    assert decide([ADD], policy, {ADD.id}, "public.t", "load") == (ADD,)


def test_a_rejected_change_does_not_stop_a_source_without_a_policy():
    assert decide([ADD], "freeze", (), "public.t", "load", {ADD.id}) == ()
