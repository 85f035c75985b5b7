"""The rows that are staged, the rows that are rejected, and the entries of both."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import pyarrow as pa
import pytest

from executors.model import RecordRef
from executors.rejects import row_id
from executors.validation import BAD, FILE, RAW, RECORD, CastFlag
from ir.rules import MaxLength, NotNull, Range, Regex


def not_null(field: str, on_fail: Any = "skip") -> NotNull:
    return NotNull(type="notNull", field=field, on_fail=on_fail)


def matches(field: str, pattern: str, on_fail: Any = "skip") -> Regex:
    return Regex(type="regex", field=field, pattern=pattern, on_fail=on_fail)


def counts(evaluated: Any) -> dict[str, int]:
    return {count.rule_id: count.violations for count in evaluated.rules}


# --- explicit rules ------------------------------------------------------------------------------------------


def test_skip_drops_warn_lets_pass_abort_is_counted(bench: Any, entries: Any) -> None:
    bench.stage("a").rule(matches("a", "^[^s]", "skip"), "s").rule(matches("a", "^[^w]", "warn"), "w")
    evaluated = bench.rule(matches("a", "^[^x]", "abort"), "x").validate(a=["s", "w", "x", "ok"])
    assert evaluated.good.column("a").to_pylist() == ["w", "ok"]
    assert entries(evaluated) == [(1, "s", "skip", "dropped"), (2, "w", "warn", "loaded"), (3, "x", "abort", "dropped")]
    assert (evaluated.staged, evaluated.rejected, evaluated.warned) == (2, 2, 1)
    assert counts(evaluated) == {"s": 1, "w": 1, "x": 1}


def test_every_rule_reports_its_count_zero_included(bench: Any) -> None:
    evaluated = bench.stage("a").rule(not_null("a")).validate(a=["x"])
    assert [(c.node, c.rule_id, c.type, c.field, c.on_fail, c.violations) for c in evaluated.rules] == [
        ("check", "rule", "notNull", "a", "skip", 0)
    ]


def test_a_row_that_breaks_several_rules_has_an_entry_for_each_and_counts_once(bench: Any, entries: Any) -> None:
    bench.stage("a").rule(matches("a", "^b"), "one").rule(
        MaxLength(type="maxLength", field="a", max=2, on_fail="warn"), "two"
    )
    evaluated = bench.validate(a=["aaa"])
    assert entries(evaluated) == [(1, "one", "skip", "dropped"), (1, "two", "warn", "dropped")]
    assert (evaluated.rejected, evaluated.warned) == (1, 0)
    assert len({row["row_id"] for row in evaluated.rejects.to_pylist()}) == 1


def test_a_row_that_one_node_drops_never_reaches_the_next(bench: Any, entries: Any) -> None:
    bench.stage("a", "integer").rule(matches("a", "^[0-9]"), "one", "first").rule(
        matches("a", "1", "abort"), "two", "second"
    )
    evaluated = bench.validate(a=["x", "2", "1"])
    assert entries(evaluated) == [(1, "one", "skip", "dropped"), (2, "two", "abort", "dropped")]
    assert evaluated.dropped_at == {"first": 1, "second": 1}


def test_an_abort_rule_reports_its_first_rows_in_source_order(bench: Any) -> None:
    records = list(range(30, 0, -1))
    evaluated = (
        bench.stage("a")
        .rule(not_null("a", "abort"))
        .validate(
            **{
                "a": pa.nulls(30, pa.string()),
                RECORD: pa.array(records, pa.int64()),
                FILE: pa.array([1, 0] * 15, pa.int32()),
            }
        )
    )
    expected = [RecordRef(0, n) for n in range(1, 31, 2)] + [RecordRef(1, n) for n in (2, 4, 6, 8, 10)]
    assert evaluated.rules[0].first == tuple(expected)


def test_other_rules_list_no_rows(bench: Any) -> None:
    assert bench.stage("a").rule(not_null("a")).validate(a=pa.nulls(1, pa.string())).rules[0].first == ()


def test_two_copies_of_one_rule_are_one(bench: Any, entries: Any) -> None:
    evaluated = bench.stage("a").rule(not_null("a")).rule(not_null("a")).validate(a=[None, "x"])
    assert entries(evaluated) == [(1, "rule", "skip", "dropped")]
    assert counts(evaluated) == {"rule": 1}


@pytest.mark.parametrize(
    ("column", "violations"),
    [
        ({}, 2),
        ({"empty_as_null": False}, 1),
        ({"nullable": False, "kind": "integer"}, 2),
    ],
)
def test_not_null_counts_empty_text_that_the_target_would_store_as_null(
    bench: Any, column: Any, violations: int
) -> None:
    evaluated = bench.stage("a", **column).rule(not_null("a")).validate(a=["", None, "1"])
    assert counts(evaluated)["rule"] == violations


# --- what the target asks for --------------------------------------------------------------------------------


def test_values_arrive_typed(bench: Any) -> None:
    evaluated = bench.stage("n", "integer").stage("d", "date").validate(n=["1", None], d=["2024-01-31", ""])
    assert evaluated.good.to_pydict() == {FILE: [0, 0], RECORD: [1, 2], "n": [1, None], "d": [date(2024, 1, 31), None]}
    assert evaluated.good.schema.types == [pa.int32(), pa.int64(), pa.int32(), pa.date32()]
    assert evaluated.rules == ()


@pytest.mark.parametrize("policy", ["abort", "skip"])
def test_a_value_of_another_type_is_a_violation(bench: Any, entries: Any, policy: Any) -> None:
    evaluated = bench.stage("n", "integer").vary(on_type_mismatch=policy).validate(n=["1", "x"])
    assert entries(evaluated) == [(2, "type:n", policy, "dropped")]
    assert evaluated.good.column("n").to_pylist() == [1]
    assert evaluated.dropped_at == {"load": 1}


def test_with_null_the_row_is_staged_and_reported(bench: Any, entries: Any) -> None:
    evaluated = bench.stage("n", "integer").vary(on_type_mismatch="null").validate(n=["1", "x"])
    assert entries(evaluated) == [(2, "type:n", "warn", "loaded")]
    assert evaluated.good.column("n").to_pylist() == [1, None]
    assert (evaluated.staged, evaluated.warned) == (2, 1)


def test_with_null_a_not_null_column_still_rejects(bench: Any, entries: Any) -> None:
    evaluated = bench.stage("n", "integer", nullable=False).vary(on_type_mismatch="null").validate(n=["1", "x", None])
    assert entries(evaluated) == [(2, "type:n", "skip", "dropped"), (3, "notNull:n", "skip", "dropped")]


def test_null_and_empty_text_break_not_null(bench: Any, entries: Any) -> None:
    evaluated = bench.stage("n", "integer", nullable=False).validate(n=["", None, "1"])
    assert entries(evaluated) == [(1, "notNull:n", "abort", "dropped"), (2, "notNull:n", "abort", "dropped")]


def test_empty_text_stays_where_it_is_not_to_become_null(bench: Any) -> None:
    evaluated = bench.stage("a", nullable=False, empty_as_null=False).validate(a=["", "x"])
    assert evaluated.good.column("a").to_pylist() == ["", "x"]


def test_without_empty_as_null_empty_text_is_no_number(bench: Any, entries: Any) -> None:
    evaluated = bench.stage("n", "integer", empty_as_null=False).validate(n=["", "1"])
    assert entries(evaluated) == [(1, "type:n", "abort", "dropped")]


@pytest.mark.parametrize("kind", ["string", "pg:varchar"])
def test_length_counts_code_points(bench: Any, entries: Any, kind: str) -> None:
    evaluated = bench.stage("a", kind, max_length=2).validate(a=["äö", "äöü"])
    assert entries(evaluated) == [(2, "length:a", "abort", "dropped")]


def test_nul_never_reaches_the_target(bench: Any, entries: Any) -> None:
    evaluated = bench.stage("a").vary(on_type_mismatch="skip").validate(a=["x\0y", "z"])
    assert entries(evaluated) == [(1, "text:a", "skip", "dropped")]


def test_with_null_too_long_text_and_nul_become_null(bench: Any) -> None:
    evaluated = bench.stage("a", max_length=2).vary(on_type_mismatch="null").validate(a=["x\0", "long", "ok"])
    assert evaluated.good.column("a").to_pylist() == [None, None, "ok"]
    assert evaluated.warned == 2


def test_a_row_that_a_rule_rejects_does_not_fail_the_run_by_a_type_mismatch(bench: Any, entries: Any) -> None:
    evaluated = (
        bench.stage("n", "integer").rule(Range(type="range", field="n", min=0, on_fail="skip")).validate(n=["x", "1"])
    )
    assert entries(evaluated) == [(1, "rule", "skip", "dropped")]


# --- records that cannot be read, and failed casts ------------------------------------------------------------


def unreadable(bench: Any, **columns: Any) -> Any:
    return bench.validate(**columns, **{BAD: pa.array([None, "expected 2 cells, found 1"]), RAW: pa.array([None, "x"])})


@pytest.mark.parametrize(("on_bad_row", "severity"), [("reject", "skip"), ("abort", "abort")])
def test_an_unreadable_record_is_rejected_with_its_raw_text(
    bench: Any, entries: Any, rows: Any, on_bad_row: str, severity: str
) -> None:
    bench.stage("a", nullable=False).rule(not_null("a")).vary(on_bad_row=on_bad_row)
    evaluated = unreadable(bench, a=["ok", None])
    assert entries(evaluated) == [(2, "row", severity, "dropped")]
    assert rows(evaluated) == [{"_flow_raw": "x"}]
    entry = evaluated.rejects.to_pylist()[0]
    assert (entry["message"], entry["node"], entry["field"]) == ("expected 2 cells, found 1", "src", None)
    assert counts(evaluated) == {"row": 1, "rule": 0}


@pytest.mark.parametrize(
    ("policy", "severity", "disposition"),
    [("abort", "abort", "dropped"), ("skip", "skip", "dropped"), ("null", "warn", "loaded")],
)
def test_a_failed_cast_is_handled_as_the_target_says(
    bench: Any, entries: Any, policy: str, severity: str, disposition: str
) -> None:
    bench.stage("n", "integer").vary(
        on_type_mismatch=policy, flags=(CastFlag("_flow_cast_0", "shape", "n", "integer"),)
    )
    evaluated = bench.validate(n=pa.array([1, None, None], pa.int32()), _flow_cast_0=[False, True, None])
    assert entries(evaluated) == [(2, "type:n", severity, disposition)]
    assert evaluated.rejects.to_pylist()[0]["node"] == "shape"
    assert evaluated.rejects.to_pylist()[0]["message"] == "is not a whole number"


# --- what an entry holds -------------------------------------------------------------------------------------


def test_an_entry_says_all_that_quarantine_needs(bench: Any) -> None:
    bench.stage("a").stage("n", "integer").rule(not_null("a"), "r-1")
    evaluated = bench.validate(
        a=[None], n=["7"], **{FILE: pa.array([1], pa.int32()), RECORD: pa.array([42], pa.int64())}
    )
    assert evaluated.rejects.to_pylist() == [
        {
            "file": 1,
            "record": 42,
            "row_id": row_id("run-1", "load", "bb" * 32, 42),
            "node": "check",
            "rule_id": "r-1",
            "field": "a",
            "message": "must not be empty",
            "severity": "skip",
            "disposition": "dropped",
            "row": '{"a": null, "n": "7"}',
            "row_from": "source",
            "source_file": "in/b.csv",
            "source_node": "src",
        }
    ]


def test_row_ids_are_stable_and_differ_by_run_target_file_and_record() -> None:
    ids = {
        row_id("r", "t", "f", 1),
        row_id("r2", "t", "f", 1),
        row_id("r", "t2", "f", 1),
        row_id("r", "t", "f2", 1),
        row_id("r", "t", "f", 2),
        row_id("r", "t", "f", 1),
    }
    assert len(ids) == 5
    assert all(re.fullmatch("[0-9a-f]{32}", name) for name in ids)


def test_the_row_shows_the_source_under_its_own_names(bench: Any, rows: Any) -> None:
    bench.stage("b").rule(not_null("b")).vary(row_columns={"a": "s0"}, row_from="source")
    assert rows(bench.validate(s0=["as given"], b=pa.nulls(1, pa.string()))) == [{"a": "as given"}]


def test_typed_values_keep_their_json_type_and_others_their_text(bench: Any, rows: Any) -> None:
    bench.stage("x").rule(not_null("x")).vary(row_columns={name: name for name in "ifndb"})
    evaluated = bench.validate(
        x=pa.nulls(1, pa.string()), i=[2**60], f=[1.5], n=[float("nan")], d=[date(2024, 1, 31)], b=[True]
    )
    assert rows(evaluated) == [{"i": 2**60, "f": 1.5, "n": "NaN", "d": "2024-01-31", "b": True}]


def test_what_json_cannot_hold_is_escaped_and_marked(bench: Any, rows: Any) -> None:
    evaluated = bench.stage("a").stage("b").rule(matches("a", "^$")).validate(a=["x\0\\y"], b=["\\"])
    assert rows(evaluated) == [{"a": "x\\0\\\\y", "b": "\\", "_flow_escaped": ["a"]}]
    assert "\\u0000" not in evaluated.rejects.to_pylist()[0]["row"]


def test_dates_that_python_lacks_do_not_stop_the_outcome(bench: Any, rows: Any) -> None:
    far = pa.array([4_000_000], pa.date32())
    bench.stage("d", "date").stage("x").rule(not_null("x"))
    assert rows(bench.validate(d=far, x=pa.nulls(1, pa.string())))[0]["d"].startswith("12921-")


def test_an_empty_batch_is_validated(bench: Any) -> None:
    evaluated = bench.stage("n", "integer").rule(not_null("n")).validate(n=pa.array([], pa.string()))
    assert (evaluated.arrived, evaluated.good.num_rows, evaluated.rejects.num_rows, counts(evaluated)) == (
        0,
        0,
        0,
        {"rule": 0},
    )


def test_violating_everything_is_not_an_error(bench: Any) -> None:
    evaluated = bench.stage("n", "integer").rule(not_null("n")).validate(n=pa.nulls(1000, pa.string()))
    assert (evaluated.staged, evaluated.rejected, evaluated.rejects.num_rows) == (0, 1000, 1000)
