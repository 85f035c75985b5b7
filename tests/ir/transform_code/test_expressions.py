"""Recorded expressions become texts with the same meaning."""

from __future__ import annotations

import datetime
import inspect
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flow_transforms import functions as F  # noqa: N812
from flow_transforms.columns import Column
from ir.expressions import parse_expression
from ir.expressions.functions import FUNCTIONS
from ir.expressions.literals import encode_literal
from ir.transform_code.expressions import write_expression
from ir.transform_code.functions import SQL_ONLY, SWAPPED, TEXT_ARGUMENTS
from ir.transform_code.recording import CodeError, Tree, read_value
from tests.ir.documents_of import columns, texts


def written(column: Column) -> str:
    return write_expression(read_value(column.tree), 1)


@pytest.mark.parametrize(
    ("column", "text"),
    [
        (F.col("a") + 1 > 2, "a + 1 > 2"),
        (F.col("a") - (F.col("b") - 1), "a - (b - 1)"),
        ((F.col("a") + 1) * -2, "(a + 1) * -2"),
        (2 * F.col("a") % 3, "2 * a % 3"),
        (1 - F.col("a"), "1 - a"),
        (-F.col("a"), "-a"),
        ((F.col("a") == 1) & (F.col("b") == "x") | ~F.col("c").isNull(), "a = 1 AND b = 'x' OR NOT (c IS NULL)"),
        ((F.col("a") == 1) & ((F.col("b") == 2) | F.col("c")), "a = 1 AND (b = 2 OR c)"),
        ((F.col("a") == F.col("b")) == F.lit(True), "(a = b) = TRUE"),
        (F.col("user.login"), "`user.login`"),
        (F.col("date").isNotNull(), "`date` IS NOT NULL"),
        (F.col("a").isin(1, 2), "a IN (1, 2)"),
        (F.col("a").isin(["x"]), "a IN ('x')"),
        (F.col("a").between(1, 9), "a BETWEEN 1 AND 9"),
        (F.col("a").eqNullSafe(None), "a <=> NULL"),
        (F.col("a").like("x%"), "a LIKE 'x%'"),
        (F.col("a").startswith("it's"), "startswith(a, 'it\\'s')"),
        (F.col("a").cast("decimal(12, 2)"), "CAST(a AS DECIMAL(12, 2))"),
        (F.col("a") * Decimal("1.19"), "a * 1.19"),
        (F.col("a") * 1.5, "a * double(1.5)"),
        (F.col("a") >= datetime.date(2025, 1, 31), "a >= CAST('2025-01-31' AS DATE)"),
        (F.when(F.col("a") > 1, "x").when(F.col("a") > 0, F.col("b")).otherwise(None),
         "CASE WHEN a > 1 THEN 'x' WHEN a > 0 THEN b ELSE NULL END"),
        (F.expr("a = 1") & F.expr("b"), "(a = 1) AND b"),
        (F.upper("a b"), "upper(`a b`)"),
        (F.concat_ws(", ", "a", F.lit("b")), "concat_ws(', ', a, 'b')"),
        (F.regexp_replace("a", r"\d+", "#"), "regexp_replace(a, '\\\\d+', '#')"),
        (F.trim("a", F.lit("x")), "trim('x', a)"),
    ],
)  # fmt: skip
def test_an_expression_is_written_as_people_write_it(column: Column, text: str) -> None:
    assert written(column) == text


@pytest.mark.parametrize(
    ("column", "code"),
    [
        (F.rand(), "expression.not_allowed"),
        (F.sum("a"), "expression.not_allowed"),
        (F.no_such("a"), "expression.not_allowed"),
        (F.expr("a ="), "expression.malformed"),
        (F.expr("(select 1)"), "expression.not_allowed"),
        (F.col("_flow_x"), "expression.not_allowed"),
        (F.col("a").getItem(0), "transforms.call_refused"),
        (F.col("a").cast("struct<a int>"), "transforms.call_refused"),
        (F.col("a").isin(), "transforms.call_refused"),
        (F.col("a").otherwise(1), "transforms.call_refused"),
        (F.int("a"), "transforms.call_refused"),
        (F.col("a") + 2**63, "transforms.call_refused"),
        (F.upper(["a"]), "transforms.call_refused"),
        (F.col(1), "transforms.call_refused"),
    ],
)
def test_what_cannot_run_is_refused(column: Column, code: str) -> None:
    with pytest.raises(CodeError) as caught:
        written(column)
    assert caught.value.code == code


# --- any expression -----------------------------------------------------------------------------------------------

BINARY = {
    "eq": "=", "ne": "<>", "lt": "<", "ge": ">=", "eqNullSafe": "<=>", "and": "AND", "or": "OR", "add": "+",
    "sub": "-", "mul": "*", "div": "/", "mod": "%", "bitwiseAND": "&", "bitwiseXOR": "^", "like": "LIKE",
}  # fmt: skip


def tree(name: str, *args: Any) -> Tree:
    return Tree(name, args, 1)


leaves = st.one_of(
    columns.map(lambda name: (tree("col", name), "`" + name.replace("`", "``") + "`")),
    st.integers(0, 9).map(lambda n: (tree("lit", n), str(n))),
    st.integers(-9, -1).map(lambda n: (tree("lit", n), f"(- {-n})")),
    texts.filter(lambda text: "\\" not in text).map(lambda text: (tree("lit", text), encode_literal(text))),
    st.booleans().map(lambda value: (tree("lit", value), str(value).upper())),
)


def above(inner: st.SearchStrategy[tuple[Tree, str]]) -> st.SearchStrategy[tuple[Tree, str]]:
    """Return an operator with operands, as text with every parenthesis."""
    binary = st.tuples(st.sampled_from(list(BINARY)), inner, inner).map(
        lambda drawn: (
            tree(f".{drawn[0]}", drawn[1][0], drawn[2][0]),
            f"({drawn[1][1]} {BINARY[drawn[0]]} {drawn[2][1]})",
        )
    )
    return st.one_of(
        binary,
        inner.map(lambda one: (tree(".not", one[0]), f"(NOT {one[1]})")),
        inner.map(lambda one: (tree(".neg", one[0]), f"(- {one[1]})")),
        inner.map(lambda one: (tree(".isNull", one[0]), f"({one[1]} IS NULL)")),
        inner.map(lambda one: (tree("upper", one[0]), f"upper({one[1]})")),
        st.tuples(inner, inner).map(
            lambda two: (tree(".isin", two[0][0], two[1][0]), f"({two[0][1]} IN ({two[1][1]}))")
        ),
    )


@given(st.recursive(leaves, above, max_leaves=8))
def test_parentheses_are_left_out_only_where_they_change_nothing(drawn: tuple[Tree, str]) -> None:
    recorded, parenthesized = drawn
    assert parse_expression(write_expression(recorded, 1)).sql == parenthesized


# --- PySpark ------------------------------------------------------------------------------------------------------


def pyspark_parameters(name: str) -> list[inspect.Parameter] | None:
    from pyspark.sql.functions import builtin

    function = getattr(builtin, name, None)
    return list(inspect.signature(function).parameters.values()) if inspect.isfunction(function) else None


def test_text_among_arguments_means_what_it_means_in_pyspark() -> None:
    found = {}
    for name in FUNCTIONS:
        parameters = pyspark_parameters(name) or []
        kinds = [str(parameter.annotation) for parameter in parameters]
        texts = {i for i, kind in enumerate(kinds) if "ColumnOrName" not in kind and ("str" in kind or "Any" in kind)}
        found |= {name: texts} if texts else {}
    assert found == TEXT_ARGUMENTS
    assert {name for name in FUNCTIONS if pyspark_parameters(name) is None} == SQL_ONLY


@pytest.mark.slow
def test_arguments_have_the_order_of_sql() -> None:
    """Spark Connect builds its calls without a server."""
    from pyspark.sql.connect.functions import builtin

    swapped = set()
    for name in FUNCTIONS - SQL_ONLY:
        parameters = pyspark_parameters(name) or []
        count = sum(parameter.kind is not parameter.VAR_POSITIONAL for parameter in parameters)
        names = [f"c{i}" for i in range(count)]
        try:
            call = getattr(builtin, name)(*map(builtin.col, names))._expr
        except Exception:  # noqa: BLE001 - it takes no columns there
            continue
        given = [str(arg) for arg in call._args if str(arg) in names]
        swapped |= {name} if given != sorted(given) else set()
    assert swapped == SWAPPED
