"""Expressions: allowed ones are rewritten with the same meaning, all others are refused with a reason."""

from __future__ import annotations

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir.expressions import ExpressionError, parse_expression, rename_column
from ir.expressions.functions import FUNCTIONS, NOT_REPEATABLE, REFUSED
from ir.expressions.literals import decode_literal, encode_literal
from tests.properties import examples

ALLOWED = {
    "dep_delay / 60": ("(`dep_delay` / 60)", ("dep_delay",)),
    "year = 2013": ("(`year` = 2013)", ("year",)),
    "a + b * c - d": ("((`a` + (`b` * `c`)) - `d`)", ("a", "b", "c", "d")),
    "a and b or not c": ("((`a` AND `b`) OR (NOT `c`))", ("a", "b", "c")),
    "not a = b": ("(NOT (`a` = `b`))", ("a", "b")),
    "!a": ("(NOT `a`)", ("a",)),
    "a == b": ("(`a` = `b`)", ("a", "b")),
    "a != b": ("(`a` <> `b`)", ("a", "b")),
    "a <=> NULL": ("(`a` <=> NULL)", ("a",)),
    "a DIV 2 % 3": ("((`a` DIV 2) % 3)", ("a",)),
    "- -a": ("(- (- `a`))", ("a",)),
    "~a & b": ("((~ `a`) & `b`)", ("a", "b")),
    "a || 'x' || b": ("((`a` || 'x') || `b`)", ("a", "b")),
    "a IS NOT NULL": ("(`a` IS NOT NULL)", ("a",)),
    "a is true": ("(`a` IS TRUE)", ("a",)),
    "a NOT IN (1, 2.5, NULL)": ("(NOT (`a` IN (1, 2.5, NULL)))", ("a",)),
    "a between 1 and b": ("(`a` BETWEEN 1 AND `b`)", ("a", "b")),
    "a like 'x\\_%'": ("(`a` LIKE 'x\\_%')", ("a",)),
    "a not like 'x'": ("(`a` NOT LIKE 'x')", ("a",)),
    "a rlike '\\\\d+'": ("(`a` RLIKE '\\\\d+')", ("a",)),
    "case when a then 1 when b then 2 else 3 end": ("(CASE WHEN `a` THEN 1 WHEN `b` THEN 2 ELSE 3 END)", ("a", "b")),
    "case a when 1 then 'x' end": ("(CASE `a` WHEN 1 THEN 'x' END)", ("a",)),
    "if(a, b, 0)": ("if(`a`, `b`, 0)", ("a", "b")),
    "UPPER(Trim(Name))": ("upper(trim(`Name`))", ("Name",)),
    "cast(a as decimal(10, 2))": ("CAST(`a` AS DECIMAL(10, 2))", ("a",)),
    "try_cast(a as int)": ("TRY_CAST(`a` AS INT)", ("a",)),
    "a::string": ("CAST(`a` AS STRING)", ("a",)),
    "cast(a as timestamp_ntz)": ("CAST(`a` AS TIMESTAMP_NTZ)", ("a",)),
    "date '2025-01-31' + interval '2' days": ("(CAST('2025-01-31' AS DATE) + (INTERVAL '2' DAY))", ()),
    "`my col`.`x``y`": ("`my col`.`x``y`", ("my col",)),
    "`user`": ("`user`", ("user",)),
    '"a\'b"': ("'a\\'b'", ()),
    "'\\u00e9\\n'": ("'é\\n'", ()),
    "cast(1 as bigint) + .5": ("(CAST(1 AS BIGINT) + 0.5)", ()),
    "concat(a, a, b)": ("concat(`a`, `a`, `b`)", ("a", "b")),
}

REFUSED_TEXTS = {
    "expression.malformed": [
        "",
        "   ",
        "a b",
        "a AS b",
        "a +",
        "(a",
        "a)",
        "'x",
        "`x",
        "a,,b",
        "a; b",
        "SELECT 1",
        "SELECT * FROM t",
        "FROM t",
        "DROP TABLE t",
        "INSERT INTO t VALUES (1)",
        "a ORDER BY b",
        "1 LIMIT 1",
        "TRANSFORM(a USING 'cat') FROM t",
        "trim(BOTH ' ' FROM a)",
        "extract(YEAR FROM a)",
        "SET x = 1",
        "+a",
        "a - +b",
        "a UNION SELECT 1",
    ],
    "expression.not_allowed": [
        "(SELECT 1)",
        "(SELECT max(a) FROM t)",
        "a IN (SELECT 1)",
        "EXISTS (SELECT 1)",
        "a = ANY (SELECT 1)",
        "a IN ()",
        "reflect('java.lang.Runtime', 'getRuntime')",
        "java_method('java.lang.System', 'exit', 1)",
        "try_reflect('a', 'b')",
        "REFLECT('a', 'b')",
        "`reflect`('a', 'b')",
        "system.builtin.reflect('a')",
        "rand()",
        "random()",
        "uuid()",
        "now()",
        "current_timestamp()",
        "current_timestamp",
        "CURRENT_DATE",
        "current_user",
        "user",
        "session_user",
        "localtimestamp",
        "input_file_name()",
        "monotonically_increasing_id()",
        "spark_partition_id()",
        "version()",
        "shuffle(array(1, 2))",
        "sum(a)",
        "count(*)",
        "count(DISTINCT a)",
        "max(a)",
        "first(a)",
        "collect_list(a)",
        "row_number() OVER (ORDER BY a)",
        "sum(a) OVER (PARTITION BY b)",
        "lag(a)",
        "explode(a)",
        "stack(2, a, b)",
        "transform(a, x -> x + 1)",
        "filter(a, x -> true)",
        "aggregate(a, 0, (x, y) -> x)",
        "x -> x",
        "(x, y) -> x",
        "a[0]",
        "a['k']",
        "a.*",
        "*",
        "count(a.*)",
        "f(a => 1)",
        "a ->> 'b'",
        "(a, b)",
        "struct(1 AS x)",
        "?",
        "$1",
        "@x",
        "${x}",
        "x'1F'",
        "0x1F",
        "r'\\d'",
        "'it''s'",
        "'a' 'b'",
        "'\\d'",
        "'\\q'",
        "rlike(a, '\\s')",
        "1L",
        "2.5D",
        "3BD",
        "/* hi */ a",
        "a -- hi",
        "a /*+ BROADCAST(t) */",
        "cast(a as struct<x: int>)",
        "cast(a as array<int>)",
        "cast(a as interval day)",
        "a COLLATE UTF8_BINARY",
        "raise_error('x')",
        "assert_true(a)",
        "nope(a)",
        "sleep(1)",
        "_flow_record",
        "`_flow_file` + 1",
        "a << 2",
        "a IS DISTINCT FROM b",
        "a LIKE ANY ('x', 'y')",
        "iff(a)",
        "INTERVAL '1-2' YEAR TO MONTH",
        "INTERVAL a DAY",
        "CAST(a AS DATE FORMAT 'YYYY')",
        "a LIKE 'x' ESCAPE '!'",
        "a ? 'b'",
        "hash(*)",
        "from_json(a, 'x INT')",
        "schema_of_json(a)",
        "xpath(a, 'x')",
        "secret('a')",
        "aes_decrypt(a, b)",
        "try_variant_get(a, 'x')",
        "ai_query('m', a)",
        "http_request(a)",
        "read_files('/etc')",
    ],
    "expression.ambiguous": [
        "a = b = c",
        "a < b = c",
        "a = b IN (1)",
        "a = b LIKE 'x'",
        "a <=> b < c",
        "a <=> b RLIKE c",
        "a IS NULL = b",
        "a & b | c",
        "a | b ^ c",
        "a || b + c",
        "a + b || c",
        "a & b + c",
        "a = b BETWEEN 1 AND 2",
    ],
}


def code_of(text: str) -> str:
    with pytest.raises(ExpressionError) as caught:
        parse_expression(text)
    assert caught.value.message.endswith(".")
    return caught.value.code


@pytest.mark.parametrize(("text", "written"), ALLOWED.items(), ids=ALLOWED)
def test_an_allowed_expression_is_written_anew(text, written):
    expression = parse_expression(text)
    assert (expression.sql, expression.columns) == written


@pytest.mark.parametrize(("code", "text"), [(code, text) for code, texts in REFUSED_TEXTS.items() for text in texts])
def test_anything_else_is_refused(code, text):
    assert code_of(text) == code


@pytest.mark.parametrize("text", ALLOWED)
def test_what_is_written_reads_as_itself(text):
    written = parse_expression(text)
    assert parse_expression(written.sql) == written


@pytest.mark.parametrize(
    "text",
    [
        "(" * 900 + "a" + ")" * 900,
        "not " * 1_900 + "a",
        "- " * 1_900 + "a",
        "a" + " + a" * 900,
        "case when a then " * 400,
        "f(" * 900 + ")" * 900,
        "a" * 10_001,
        "a, " * 3_000,
        "'" * 9_999,
        "`" * 9_999,
        "a.b" * 3_000,
        "interval " * 1_000,
    ],
    ids=lambda text: text[:12],
)
def test_absurd_expressions_are_refused_and_never_break_anything(text):
    assert code_of(text).startswith("expression.")


@given(st.text("ab1.'\"`\\()+-*/%&|^~!=<>?:;,[]{}@$ \n_%nu0", max_size=25))
@settings(max_examples=examples(1_000), deadline=None)
def test_any_text_is_an_expression_or_an_expression_error(text):
    try:
        written = parse_expression(text)
    except ExpressionError:
        return
    assert parse_expression(written.sql) == written


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
@settings(max_examples=examples(300), deadline=None)
def test_any_text_survives_as_a_literal(text):
    # LIKE reads \% and \_ as escapes, so both notations are preserved: the text means the same in Spark.
    written = encode_literal(text)
    assert decode_literal(written) == text
    if text:
        assert parse_expression(f"concat({written}, a)").sql == f"concat({written}, `a`)"


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20))
@settings(max_examples=examples(300), deadline=None)
def test_any_name_in_backticks_survives_as_a_column(name):
    quoted = "`" + name.replace("`", "``") + "`"
    if not name.startswith("_flow_"):
        assert parse_expression(f"upper({quoted})").columns == (name,)
        assert parse_expression(f"upper({quoted})").sql == f"upper({quoted})"


comparisons = st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "<=>"])
arithmetic = st.sampled_from(["+", "-", "*", "/", "%", "DIV"])
leaves = st.sampled_from(["`a`", "`b c`", "1", "2.5", "'x'", "NULL", "TRUE", "length(`a`)"])
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(inner, arithmetic, inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(inner, comparisons, inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(inner, inner).map(lambda t: f"coalesce({t[0]}, {t[1]})"),
        inner.map(lambda t: f"(NOT {t})"),
        inner.map(lambda t: f"({t} IS NULL)"),
        st.tuples(inner, inner, inner).map(lambda t: f"(CASE WHEN {t[0]} THEN {t[1]} ELSE {t[2]} END)"),
    ),
    max_leaves=12,
)


@given(trees)
@settings(max_examples=examples(300), deadline=None)
def test_a_tree_in_parentheses_is_written_as_it_is(text):
    assert parse_expression(text).sql == text


def test_a_backslash_that_spark_would_drop_is_reported():
    with pytest.raises(ExpressionError, match=r"escape \\d means d") as caught:
        parse_expression("a rlike '\\d+'")
    assert "Double every backslash" in caught.value.hint


def test_a_misspelt_function_is_guessed():
    with pytest.raises(ExpressionError) as caught:
        parse_expression("uper(a)")
    assert caught.value.hint == "Did you mean upper?"


def test_what_may_differ_between_tries_says_so():
    with pytest.raises(ExpressionError, match="when a run is retried"):
        parse_expression("date_add(current_date, 1)")


def test_the_lists_of_functions_do_not_overlap():
    refused = frozenset().union(*(names for names, _ in REFUSED))
    assert not FUNCTIONS & NOT_REPEATABLE
    assert not FUNCTIONS & refused
    assert not NOT_REPEATABLE & refused
    assert all(set(name) <= set(string.ascii_lowercase + string.digits + "_") for name in FUNCTIONS)


@pytest.mark.parametrize(
    ("text", "other", "meant"),
    [
        ("totl / 2 + totl", "total", "total / 2 + total"),
        ("case when `totl` = 'totl' then 1 end", "all of it", "case when `all of it` = 'totl' then 1 end"),
        ("concat(totl, x.totl)", "total", "concat(total, x.totl)"),
        ("totl(a) = totl", "total", None),
        ("totl  >  1", "select", None),
    ],
)
def test_a_column_is_put_in_the_place_of_another_in_the_text_as_it_was_typed(text, other, meant):
    assert rename_column(text, "totl", other) == meant
