"""`duplicateKey` and `unique`: among the staged rows, and together with those of the table."""

from __future__ import annotations

import pytest

from executors.errors import Terminal
from ir.checks import DuplicateKey, Unique

PAIR = DuplicateKey(columns=["a", "b"], on_fail="warn")
SINGLE = Unique(column="a", on_fail="warn")
ROWS = [(1, "x"), (1, "x"), (1, "y"), (2, None), (2, None), (None, None), (3, "X")]


def test_rows_that_share_a_key_are_counted_and_null_makes_no_key(staged, checking):
    report = checking.run(staged("a integer, b text", ROWS), PAIR)
    assert (report.ok, report.observed) == (False, 2)
    assert report.message == "2 rows with 1 repeated value of a, b"


def test_unique_looks_at_one_column_and_null_may_repeat(staged, checking):
    report = checking.run(staged("a integer, b text", ROWS), SINGLE)
    assert (report.ok, report.observed, report.message) == (False, 5, "5 rows with 2 repeated values of a")


@pytest.mark.parametrize("rows", [[], [(None, "x"), (None, "x")], [(1, "x"), (1, "y"), (2, "x")]])
def test_no_rows_no_key_and_no_repeats_hold(staged, checking, rows):
    report = checking.run(staged("a integer, b text", rows), PAIR)
    assert (report.ok, report.observed, report.message) == (True, 0, None)


@pytest.mark.parametrize("mode", ["append", "incremental_watermark"])
def test_rows_of_the_table_count_where_a_load_adds_to_them(staged, checking, make, schema, mode):
    more = {"watermark_column": "a"} if mode == "incremental_watermark" else {}
    load = staged("a integer, b text", [(1, "x"), (2, "x"), (2, "x"), (3, None)], mode=mode, **more)
    make("INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, NULL)")
    report = checking.run(load, PAIR)
    assert (report.ok, report.observed) == (False, 3)
    assert report.message == (
        f"2 rows with 1 repeated value of a, b; 1 row with values of a, b that already exist in {schema}.t"
    )


@pytest.mark.parametrize("mode", ["truncate", "blue_green", "upsert"])
def test_rows_of_the_table_do_not_count_where_a_load_replaces_them(staged, checking, make, mode):
    more = {"upsert_key": ["a"]} if mode == "upsert" else {}
    load = staged("a integer PRIMARY KEY, b text".replace(" PRIMARY KEY", ""), [], mode="append")
    make("INSERT INTO t VALUES (1, 'x')")
    load.target = load.target.model_copy(update={"load_mode": mode, **more})
    load.stage([(1, "x")], task=3)
    assert checking.run(load, PAIR).ok


def test_keys_of_types_that_travel_as_text_are_compared_as_the_table_holds_them(staged, checking, make):
    load = staged("a uuid, b text", [("6F1C1F9E-0000-4000-8000-000000000001", "x")])
    make("INSERT INTO t VALUES ('6f1c1f9e-0000-4000-8000-000000000001', 'x')")
    assert checking.run(load, PAIR).observed == 1


def test_a_column_that_does_not_reach_the_target_is_named_before_the_read(staged, checking):
    load = staged("a integer", [])
    with pytest.raises(Terminal, match=r"check\.column_unknown.*'b'") as raised:
        checking.probe(load, PAIR)
    assert raised.value.node == "check"


def test_a_table_that_must_not_be_read_is_found_before_the_read(staged, checking, make, other_role, admin):
    load = staged("a integer, b text", [])
    admin(f"ALTER TABLE t OWNER TO {other_role}")
    with pytest.raises(Terminal, match="permission"):
        checking.probe(load, PAIR)
