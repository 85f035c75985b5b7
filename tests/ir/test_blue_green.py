"""The plan reports how blue_green replaces a table before a run, and truncate is used if it is possible."""

from __future__ import annotations

import pytest

from ir import InvalidPipeline, parsePipelineIR
from ir.destinations import Destination, DestinationColumn, Replacing
from ir.types import STRING
from tests.ir.cases import document

KEY = ("warehouse", "public", "orders")
COLUMNS = (DestinationColumn("id", STRING, "text"), DestinationColumn("total", STRING, "text"))


def parsed(mode, **found):
    """Parse the pipeline of orders with this load mode, for the given properties of its tables."""
    made = document("orders")
    made["nodes"][-1] |= {"loadMode": mode}
    made["nodes"][-1].pop("upsertKey", None)
    return parsePipelineIR(made, **found)


def table(*against_swap, against_delete=()):
    return {
        "destinations": {
            KEY: Destination("public", "orders", COLUMNS, replacing=Replacing(against_swap, tuple(against_delete)))
        }
    }


def codes(parsed):
    return [warning.code for warning in parsed.warnings]


def test_a_table_that_can_be_swapped_needs_no_word():
    assert codes(parsed("blue_green", **table())) == []


def test_what_a_swap_would_lose_is_reported_and_may_be_kept():
    (warning,) = parsed("blue_green", **table("materialized view public.m")).warnings
    assert (warning.code, str(warning.path)) == ("blue_green.in_place", "/nodes/3/loadMode")
    assert "public.orders are to be replaced by DELETE and INSERT" in warning.message
    assert "materialized view public.m" in warning.message


def test_a_table_that_can_be_replaced_in_neither_way_is_refused_with_both_reasons():
    with pytest.raises(InvalidPipeline) as refused:
        parsed("blue_green", **table("a view", against_delete=["a foreign key"]))
    (found,) = refused.value.diagnostics
    assert found.code == "blue_green.not_possible"
    assert "a view" in found.message
    assert "a foreign key" in found.message


def test_without_a_look_at_the_table_nothing_is_said_and_that_is_listed():
    assert [(s.code, str(s.path)) for s in parsed("blue_green").skipped] == [
        ("blue_green.not_possible", "/nodes/3/loadMode")
    ]


def test_a_table_that_is_still_to_be_made_can_be_swapped():
    made = parsed("blue_green", destinations={KEY: None})
    assert codes(made) == []
    assert made.skipped == ()


def test_truncate_offers_blue_green():
    (warning,) = parsed("truncate", **table("a view")).warnings
    assert warning.code == "truncate.prefer_blue_green"
    assert warning.fixes == ([{"op": "replace", "path": "/nodes/3/loadMode", "value": "blue_green"}],)


def test_truncate_offers_nothing_that_cannot_be():
    assert codes(parsed("truncate", **table("a view", against_delete=["a foreign key"]))) == []
