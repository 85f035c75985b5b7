"""Row rules have the same results as DuckDB on the same values: NULLs, repeated values, all of Unicode, and the limits
of every type."""

from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from executors.rules import row_rule_mask
from ir.rules import RULES
from ir.rules.base import RowRule
from tests.properties import examples

FEW = settings(max_examples=examples(50))
NOW = datetime(2025, 6, 15, 12, tzinfo=UTC)


def rule(kind: str, **fields: Any) -> RowRule:
    return RULES[kind].read({"type": kind, "field": "x", "onFail": "skip", **fields})


@pytest.fixture(scope="module")
def duck() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'America/New_York'")
    return connection


def agree(duck: duckdb.DuckDBPyConnection, made: RowRule, values: pa.Array, failing: str) -> None:
    """Compare a rule with `failing`, DuckDB's condition for a value `x` that violates the rule. Rows for which it is
    NULL pass."""
    rows = pa.table({"n": pa.array(range(len(values))), "x": values})  # noqa: F841
    found = duck.execute(f"SELECT n FROM rows WHERE {failing} ORDER BY n").fetchall()
    mask = row_rule_mask(made, values, now=NOW).to_pylist()
    assert [n for n, bad in enumerate(mask) if bad] == [n for (n,) in found], values.to_pylist()


def lists(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    """Short lists with NULLs, and with repeats."""
    return st.lists(st.none() | strategy, max_size=8).map(lambda values: values + values[:3])


# DuckDB takes no NUL in its literals, and neither does PostgreSQL in its texts.
anything = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
text = anything | st.sampled_from(["", " ", "a", "A", "ä", "a\u0308", "😀", "e\u0301", "\n", "ab\n", "null", "NA", "'"])
numbers = st.decimals(-(10**15), 10**15, places=6) | st.sampled_from([Decimal(0), Decimal("0.1"), Decimal("1.000001")])
number_texts = numbers.map(lambda number: f"{number:f}") | st.sampled_from(["", "x", "1,5", "--1", "1e2"])
floats = st.floats() | st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf, 0.1, 1.7976931348623157e308, 5e-324])
whole = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([-(2**63), 2**63 - 1, 0, 1, 9007199254740993])
moments = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)) | st.sampled_from(
    [NOW.replace(tzinfo=None) + timedelta(microseconds=step) for step in (-1, 0, 1)]
)
days = st.dates() | st.sampled_from([date(2025, 6, 14), date(2025, 6, 15), date(2025, 6, 16)])


@FEW
@given(lists(text))
def test_not_null(duck: duckdb.DuckDBPyConnection, values: list[Any]) -> None:
    agree(duck, rule("notNull"), pa.array(values, pa.string()), "x IS NULL")


@FEW
@given(lists(text))
@pytest.mark.parametrize("pattern", ["^a", "[ä-ü]", "^$", r"\S$", "(?i)A", r"\p{Lu}"])
def test_regex(duck: duckdb.DuckDBPyConnection, pattern: str, values: list[Any]) -> None:
    failing = f"NOT regexp_matches(x, '{pattern}')"
    agree(duck, rule("regex", pattern=pattern), pa.array(values, pa.string()), failing)


@FEW
@given(lists(text), st.integers(1, 4))
def test_lengths(duck: duckdb.DuckDBPyConnection, values: list[Any], bound: int) -> None:
    texts = pa.array(values, pa.string())
    agree(duck, rule("minLength", min=bound), texts, f"length(x) < {bound}")
    agree(duck, rule("maxLength", max=bound), texts, f"length(x) > {bound}")


@FEW
@given(lists(number_texts), numbers, numbers)
def test_range_of_numbers_in_text(
    duck: duckdb.DuckDBPyConnection, values: list[Any], one: Decimal, other: Decimal
) -> None:
    low, high = sorted((one, other))
    number = "TRY_CAST(CASE WHEN x NOT IN ('1e2') THEN x ELSE '100' END AS DECIMAL(38, 6))"
    failing = f"x IS NOT NULL AND ({number} IS NULL OR {number} < {low:f} OR {number} > {high:f})"
    agree(duck, rule("range", min=f"{low:f}", max=f"{high:f}"), pa.array(values, pa.string()), failing)


@FEW
@given(lists(numbers), numbers, numbers)
def test_range_of_decimals(duck: duckdb.DuckDBPyConnection, values: list[Any], one: Decimal, other: Decimal) -> None:
    low, high = sorted((one, other))
    column = pa.array(values, pa.decimal128(38, 6))
    agree(duck, rule("range", min=f"{low:f}", max=f"{high:f}"), column, f"x < {low:f} OR x > {high:f}")


@FEW
@given(lists(whole), whole, whole)
def test_range_of_whole_numbers(duck: duckdb.DuckDBPyConnection, values: list[Any], one: int, other: int) -> None:
    low, high = sorted((one, other))
    column = pa.array(values, pa.int64())
    agree(duck, rule("range", min=str(low), max=str(high)), column, f"x < {low}::HUGEINT OR x > {high}::HUGEINT")


@FEW
@given(lists(floats), st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_range_of_floats(duck: duckdb.DuckDBPyConnection, values: list[Any], one: float, other: float) -> None:
    low, high = sorted((one, other))
    failing = f"isnan(x) OR x < {low!r}::DOUBLE OR x > {high!r}::DOUBLE"
    agree(duck, rule("range", min=low, max=high), pa.array(values, pa.float64()), failing)


@FEW
@given(lists(moments), moments, moments)
def test_range_of_moments(duck: duckdb.DuckDBPyConnection, values: list[Any], one: datetime, other: datetime) -> None:
    low, high = sorted((one, other))
    made = rule("range", min=low.isoformat(timespec="microseconds"), max=high.isoformat(timespec="microseconds"))
    failing = f"x < TIMESTAMP '{low}' OR x > TIMESTAMP '{high}'"
    agree(duck, made, pa.array(values, pa.timestamp("us")), failing)


@FEW
@given(lists(anything | st.sampled_from(["1", "-1", "+7", "9223372036854775807", "9223372036854775808", "1.0", " 1 "])))
def test_whole_numbers_in_text(duck: duckdb.DuckDBPyConnection, values: list[Any]) -> None:
    is_whole = "regexp_full_match(x, ' *[+-]?[0-9]+ *') AND TRY_CAST(trim(x) AS BIGINT) IS NOT NULL"
    texts = pa.array(values, pa.string())
    agree(duck, rule("fieldType", expected="integer"), texts, f"NOT coalesce({is_whole}, false) AND x IS NOT NULL")


@FEW
@given(lists(days.map(str) | st.sampled_from(["2025-02-30", "2025-2-3", "20250203", "now", "", "0000-01-01"])))
def test_dates_in_text(duck: duckdb.DuckDBPyConnection, values: list[Any]) -> None:
    is_date = r"regexp_full_match(x, '\d{4}-\d{2}-\d{2}') AND TRY_CAST(x AS DATE) >= DATE '0001-01-01'"
    texts = pa.array(values, pa.string())
    agree(duck, rule("fieldType", expected="date"), texts, f"NOT coalesce({is_date}, false) AND x IS NOT NULL")


@FEW
@given(lists(text), st.lists(text, min_size=1, max_size=4))
def test_listed_texts(duck: duckdb.DuckDBPyConnection, values: list[Any], listed: list[str]) -> None:
    texts, among = pa.array(values, pa.string()), ", ".join("'" + one.replace("'", "''") + "'" for one in listed)
    agree(duck, rule("oneOf", values=listed), texts, f"x NOT IN ({among})")
    agree(duck, rule("notOneOf", values=listed), texts, f"x IN ({among})")


@FEW
@given(lists(whole), st.lists(st.integers(-(2**53) + 1, 2**53 - 1), min_size=1, max_size=4))
def test_listed_numbers(duck: duckdb.DuckDBPyConnection, values: list[Any], listed: list[int]) -> None:
    numbers = pa.array(values + listed[:1], pa.int64())
    agree(duck, rule("notOneOf", values=listed), numbers, f"x IN ({', '.join(map(str, listed))})")
    texts = pa.array([None if v is None else f"{v}.0" for v in values + listed[:1]], pa.string())
    agree(duck, rule("notOneOf", values=listed), texts, f"x::DECIMAL(38, 1) IN ({', '.join(map(str, listed))})")


@FEW
@given(lists(moments), lists(days))
def test_not_in_the_future(duck: duckdb.DuckDBPyConnection, values: list[Any], dates: list[Any]) -> None:
    now = NOW.replace(tzinfo=None)
    made = rule("notInFuture")
    agree(duck, made, pa.array(values, pa.timestamp("us")), f"x > TIMESTAMP '{now}'")
    zoned = pa.array(values, pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))
    agree(duck, made, zoned, "epoch_us(x) > epoch_us(TIMESTAMPTZ '2025-06-15 12:00:00+00')")
    agree(duck, made, pa.array(dates, pa.date32()), f"x::TIMESTAMP > TIMESTAMP '{now}'")


parts = st.text("ab.-@ +ä9", max_size=12) | st.sampled_from(["a@b.c", "a.b@c-d.ef", "a@b", "é@ö.de", "@.", "a@@b.c"])

_EMAIL = r"""
WITH split AS (SELECT string_split(x, '@') AS p),
     sides AS (SELECT len(p) = 2 AS is_pair, string_split(p[1], '.') AS atoms, string_split(p[2], '.') AS labels
               FROM split)
SELECT is_pair AND len(labels) >= 2 AND length(x) <= 254
   AND len(list_filter(atoms, lambda a: NOT regexp_full_match(a, '[ab9ä+-]+'))) = 0
   AND len(list_filter(labels, lambda l: NOT regexp_full_match(l, '[ab9ä-]+') OR l[1] = '-' OR l[-1] = '-')) = 0
FROM sides"""


@FEW
@given(lists(parts.filter(lambda value: set(value) <= set("ab.-@ +ä9"))))
def test_addresses(duck: duckdb.DuckDBPyConnection, values: list[Any]) -> None:
    """DuckDB splits the addresses, without a pattern."""
    agree(duck, rule("email"), pa.array(values, pa.string()), f"NOT ({_EMAIL})")


documents = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["x", ""]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
    max_leaves=4,
)


@FEW
@given(lists(documents.map(json.dumps) | st.sampled_from(["", "{", "{'a': 1}", "nul"])))
def test_json_that_follows_a_schema(duck: duckdb.DuckDBPyConnection, values: list[Any]) -> None:
    schema = {
        "type": "object",
        "required": ["a"],
        "properties": {"a": {"type": "integer", "minimum": 0}},
        "additionalProperties": False,
    }
    failing = (
        "x IS NOT NULL AND NOT coalesce(CASE WHEN json_valid(x) THEN json_type(x) = 'OBJECT' AND json_keys(x) = ['a']"
        " AND json_type(x, '$.a') IN ('UBIGINT', 'BIGINT') AND TRY_CAST(json_extract_string(x, '$.a') AS BIGINT) >= 0"
        " END, false)"
    )
    agree(duck, rule("jsonSchema", schema=schema), pa.array(values, pa.string()), failing)
