"""Flow computes the same results as Spark, for every operator and type that it supports."""

from __future__ import annotations

import pickle
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it
from pyspark.sql.types import StructField, StructType

from executors.spark.jobs import frame_of_numbers, map_task
from executors.spark.types import spark_type
from executors.types import wire_type
from executors.vectors import compute, vector_of
from ir.expressions import parse_expression
from ir.types import ColumnType
from tests.properties import examples

TEXTS = ["", " ", "a", "A", "a ", "ab", "ä", "a\u0308", "z", "\uffff", "\U0001f600", "it's", "${x}"]
VALUES: dict[str, list[Any]] = {
    "string": TEXTS,
    "integer": [-(2**31), -2, -1, 0, 1, 2, 20, 2**31 - 1],
    "bigint": [-(2**63), -(2**31) - 1, -1, 0, 1, 20, 2**31, 2**53 + 1, 2**63 - 1],
    "decimal(12,2)": [Decimal(text) for text in ("-9999999999.99", "-0.01", "0.00", "0.01", "1.50", "20.00", "2.00")],
    "decimal(20,6)": [Decimal(text) for text in ("-1.500000", "0.000001", "0.010000", "1.5", "99999999999999.999999")],
    "boolean": [True, False],
    "date": [date(1, 1, 1), date(1582, 10, 10), date(2025, 6, 15), date(9999, 12, 31)],
    "timestamp": [datetime(1582, 10, 10), datetime(2025, 6, 15, 12), datetime(2025, 6, 15, 12, 0, 0, 1)],
    "timestamptz": [datetime(1969, 12, 31, 23, tzinfo=UTC), datetime(2025, 6, 15, 12, tzinfo=UTC)],
}
COLUMNS = {f"{letter}{n}": kind for letter, kind in zip("sibdefytz", VALUES, strict=True) for n in (1, 2)}
SCHEMA = pa.schema({name: wire_type(ColumnType.parse(kind)).arrow for name, kind in COLUMNS.items()})
SPARK_SCHEMA = StructType([StructField(name, spark_type(ColumnType.parse(kind))) for name, kind in COLUMNS.items()])
ROWS = st.lists(
    st.tuples(*(st.none() | st.sampled_from(VALUES[kind]) for kind in COLUMNS.values())), min_size=10, max_size=30
)
NUMBERS = [
    "0",
    "1",
    "20",
    "2147483647",
    "2147483648",
    "9223372036854775807",
    "-1",
    "-2147483648",
    "1.5",
    "0.01",
    ".5",
    "-1.50",
    "20.000000",
    "2.",
    "007",
]


def columns(*kinds: str) -> st.SearchStrategy[str]:
    return st.sampled_from([name for name, kind in COLUMNS.items() if kind in kinds])


texts = st.deferred(
    lambda: (
        columns("string")
        | st.sampled_from(TEXTS).map(lambda text: "'" + text.replace("'", "\\'") + "'")
        | st.lists(texts, min_size=1, max_size=3).map(lambda parts: f"concat({', '.join(parts)})")
        | st.tuples(texts, texts).map(lambda two: f"({two[0]}) || ({two[1]})")
        | chosen(texts)
    )
)
numbers = columns("integer", "bigint", "decimal(12,2)", "decimal(20,6)") | st.sampled_from(NUMBERS)
SAME = [texts, numbers, columns("date"), columns("timestamp"), columns("timestamptz")]
values = st.one_of(*SAME, columns("boolean"))


def chosen(of: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Return one of several values of one type."""
    return (
        st.lists(of | st.just("NULL"), min_size=1, max_size=3).map(lambda parts: f"coalesce({', '.join(parts)})")
        | st.tuples(truths, of, of).map(lambda t: f"CASE WHEN {t[0]} THEN NULL WHEN {t[1]} IS NULL THEN {t[2]} END")
        | st.tuples(truths, of, of).map("CASE WHEN {0[0]} THEN {0[1]} ELSE {0[2]} END".format)
    )


def compared(of: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return (
        st.tuples(of, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), of).map("({0[0]}) {0[1]} ({0[2]})".format)
        | st.tuples(of, of, of).map("({0[0]}) BETWEEN ({0[1]}) AND ({0[2]})".format)
        | st.tuples(of, st.lists(of, min_size=1, max_size=3).map(", ".join)).map("({0[0]}) NOT IN ({0[1]})".format)
        | st.tuples(of, st.lists(of, min_size=1, max_size=3).map(", ".join)).map("({0[0]}) IN ({0[1]})".format)
    )


truths = st.deferred(
    lambda: (
        columns("boolean")
        | st.one_of(*map(compared, SAME))
        | st.tuples(truths, st.sampled_from(["AND", "OR"]), truths).map("(({0[0]}) {0[1]} ({0[2]}))".format)
        | truths.map("(NOT ({0}))".format)
        | st.tuples(values, st.sampled_from(["IS NULL", "IS NOT NULL"])).map("(({0[0]}) {0[1]})".format)
        | st.tuples(truths, st.sampled_from(["IS TRUE", "IS NOT FALSE"])).map("(({0[0]}) {0[1]})".format)
    )
)
listed = st.one_of(truths, texts, *map(chosen, [columns(kind) for kind in VALUES]))


@pytest.mark.spark
@settings(max_examples=examples(3), suppress_health_check=list(HealthCheck), deadline=None)
@given(ROWS, st.lists(listed, min_size=15, max_size=25))
def test_vectors_are_what_spark_computes(spark: Any, rows: list[tuple[Any, ...]], written: list[str]) -> None:
    batch = pa.RecordBatch.from_pylist([dict(zip(COLUMNS, row, strict=True)) for row in rows], schema=SCHEMA)
    types = {field.name: field.type for field in SCHEMA}
    found = {sql: vector_of(sql, types) for sql in (parse_expression(text).sql for text in written)}
    ours = {sql: vector for sql, vector in found.items() if vector is not None}
    frame = map_task(frame_of_numbers(spark, 1), lambda numbers: (batch for _ in numbers), SPARK_SCHEMA)
    theirs = frame.select(*(F.expr(sql).alias(f"c{place}") for place, sql in enumerate(ours))).toArrow()
    for (sql, vector), column in zip(ours.items(), theirs.columns, strict=True):
        if vector.type == column.type:  # otherwise Spark computes the path
            assert compute(vector, batch).to_pylist() == column.to_pylist(), sql


@pytest.mark.parametrize(
    "text",
    [
        "s1 = t1",
        "s1 < 1",
        "i1 + 1",
        "d1 * 2",
        "f1 = f2",
        "y1 < t1",
        "upper(s1)",
        "s1 LIKE 'a%'",
        "x = 0.5",
        "x IS NULL",
        "i1 = 1e2",
        "b1 = 12345678901234567890",
        "concat(s1, i1)",
        "coalesce(i1, b1)",
        "CASE i1 WHEN 1 THEN 2 END",
        "s1 = 'a\\\\b'",
        "d1 = timestamp '2025-01-01 00:00:00'",
        "i1 = NULL",
        "s1 <=> s2",
        "cast(i1 as string)",
        "-i1",
        "CASE WHEN i1 > 0 THEN i1 ELSE b1 END",
        "e1 > 0.12345678901234567890123456",
        "99999999999999999999. <= b1",
        "nvl(s1, s2)",
        "r.a",
        "e1 IN (b1, 0.1234567890123456789)",
        "e1 BETWEEN b1 AND 0.1234567890123456789",
        "i1 = - -2147483648",
    ],
)
def test_everything_else_is_left_to_spark(text: str) -> None:
    types = {field.name: field.type for field in SCHEMA} | {"x": pa.float64(), "r": pa.struct({"a": pa.int32()})}
    assert vector_of(parse_expression(text).sql, types) is None


def test_a_list_may_be_long_and_tests_may_be_nested() -> None:
    """Vectors are pickled for tasks. An operand that is evaluated twice would be evaluated twice on every level."""
    batch = pa.RecordBatch.from_pylist([{"i1": 7, "s1": "a"}, {"i1": 900, "s1": "~"}, {}], schema=SCHEMA)
    nested = "s1"
    for _ in range(8):
        nested = f"CASE WHEN ({nested}) IN ('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h') THEN s1 END"
    long = f"i1 IN ({', '.join(map(str, range(900)))})"
    for text, expected in ((long, [True, False, None]), (nested, ["a", None, None])):
        vector = vector_of(parse_expression(text).sql, {field.name: field.type for field in SCHEMA})
        assert vector is not None
        assert compute(pickle.loads(pickle.dumps(vector)), batch).to_pylist() == expected
