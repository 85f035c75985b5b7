"""Spark returns the same results for an expression as written and as rewritten by Flow."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from ir.expressions import parse_expression

pytestmark = pytest.mark.spark

ROWS = """
    SELECT * FROM VALUES
        (1, 2, 3, 1.5D, 'x%_', 'say \\"hi\\"', DATE '2025-01-31', true),
        (7, -3, 2, -2.25D, 'a\\\\d1', 'it\\'s', DATE '2024-02-29', false),
        (NULL, 4, 0, NULL, NULL, 'é\\n', NULL, NULL)
    AS rows(a, b, c, x, s, t, d, f)
"""

TEXTS = [
    "a + b * c - a % 3",
    "a - b - c",
    "-a * -b",
    "a / 4 / 2",
    "b DIV 2 * 2",
    "NOT f AND a > b OR c < 2",
    "NOT a = b",
    "!f = false",
    "a BETWEEN b AND c AND f",
    "a NOT BETWEEN 1 AND 2 OR f",
    "a NOT IN (1, b, NULL)",
    "s NOT LIKE 'x\\%%' AND s LIKE '%\\_'",
    "s RLIKE '\\\\d'",
    "s RLIKE '\\\\\\\\d'",
    "t || s || 'z'",
    "t = 'say \"hi\"'",
    "t = 'it\\'s'",
    "t = 'é\\n'",
    "t = '\\u00e9\\n'",
    "a <=> NULL OR b IS NOT NULL",
    "f IS NOT TRUE",
    "~b & 3",
    "CASE WHEN a > 1 THEN 'big' WHEN a = 1 THEN 'one' ELSE t END",
    "CASE c WHEN 3 THEN x END",
    "if(f, a, b)",
    "CAST(x AS INT) + a::bigint",
    "CAST(a AS DECIMAL(5, 2)) / 3",
    "try_cast(t AS INT) IS NULL",
    "d + INTERVAL 1 DAY",
    "d > DATE '2024-12-31'",
    "datediff(d, DATE '2024-01-01')",
    "date_format(d, 'yyyy-MM')",
    "regexp_replace(s, '[^a-z]', '')",
    "coalesce(a, nullif(b, 4), 1e2, .5)",
    "round(x, 1) >= 1.5",
    "concat_ws(',', a, s, f)",
    "`a` + `b`",
]


def test_what_is_written_gives_what_was_typed(spark):
    rows = spark.sql(ROWS)
    typed = rows.select([F.expr(text).alias(f"c{i}") for i, text in enumerate(TEXTS)])
    written = rows.select([F.expr(parse_expression(text).sql).alias(f"c{i}") for i, text in enumerate(TEXTS)])
    assert written.schema == typed.schema
    for ours, theirs in zip(written.collect(), typed.collect(), strict=True):
        assert dict(zip(TEXTS, ours, strict=True)) == dict(zip(TEXTS, theirs, strict=True))


def test_every_allowed_function_is_known_to_spark(spark):
    from ir.expressions.functions import FUNCTIONS

    known = {row[0] for row in spark.sql("SHOW FUNCTIONS").collect()}
    assert known >= FUNCTIONS
