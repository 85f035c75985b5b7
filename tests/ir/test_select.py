"""Queries of the op sql: the allowed parts, and the result of parsing."""

from __future__ import annotations

import pytest

from ir.columns import Columns
from ir.expressions import ExpressionError
from ir.expressions.select import Item, parse_query
from ir.ops import SqlQuery


def test_a_query_is_taken_apart_into_columns_expressions_and_a_condition() -> None:
    query = parse_query("select a, b as `x y`, upper(c) AS d from INPUT where a > 1 and b IS NOT NULL;")
    assert query.items == (Item("a", "a", "a"), Item("x y", "b", "b"), Item("d", "upper(c)"))
    assert (query.where, query.has_all) == ("a > 1 and b IS NOT NULL", False)


def test_a_star_stands_for_all_columns_before_others() -> None:
    query = parse_query("SELECT *, CASE WHEN a THEN 'from' END AS c FROM input")
    assert (query.has_all, query.where, [item.name for item in query.items]) == (True, None, ["c"])


@pytest.mark.parametrize(
    "query",
    [
        "select a from csv.`/etc/passwd`",
        "select a from input, other",
        "select a from input i join x on true",
        "select (select 1 from t) as x from input",
        "select a from input where exists(select 1 from csv.`/x`)",
        "select a from input where a in (select b from t)",
        "with t as (select 1) select a from t",
        "select a from input union all select b from other",
        "select a from input; drop table x",
        "select reflect('java.lang.Runtime', 'getRuntime') as x from input",
        "select java_method('java.lang.System', 'getenv') as x from input",
        "select transform(a) using 'cat' as (x) from input",
        "select explode(a) as x from input",
        "select a from input lateral view explode(a) t as x",
        "select row_number() over (order by a) as n from input",
        "select sum(a) as s from input",
        "select a from input group by a",
        "select distinct a from input",
        "select a from input order by a",
        "select a from input limit 1",
        "select a from input tablesample (1 rows)",
        "select rand() as r from input",
        "select /*+ broadcast(x) */ a from input",
        "select a from input -- where",
        "select a, * from input",
        "select a, a from input",
        "select upper(a) from input",
        "select a b from input",
        "select from input",
        "select a from input where",
        "select a from input)",
        "select 'x",
        "",
    ],
)
def test_a_query_reads_one_row_of_input_and_nothing_else(query: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        parse_query(query)
    assert refused.value.code in ("sql.malformed", "expression.malformed", "expression.not_allowed")


def test_the_types_of_columns_that_are_selected_are_known() -> None:
    arriving = Columns(("a", "b"), closed=True, types={"a": "integer", "b": "date"})
    after = SqlQuery(op="sql", query="select a as x, b, a + 1 as c from input").columns_after(arriving)
    assert (after.present, after.closed, dict(after.types)) == (("x", "b", "c"), True, {"x": "integer", "b": "date"})
    after = SqlQuery(op="sql", query="select *, a + 1 as c from input").columns_after(arriving)
    assert (after.present, after.types["b"]) == (("a", "b", "c"), "date")
