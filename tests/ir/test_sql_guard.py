"""The check of SQL in hooks, against the corpus and against random statements."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir.codes import CODES
from ir.sql_guard import SETTINGS, StatementRefused, read_hook_statement
from tests.ir.cases import FOLDER

CORPUS = json.loads((FOLDER.parent / "hooks" / "sql.json").read_text())

CHANGES = (
    "DELETE FROM t",
    "DELETE FROM ONLY t WHERE id = 1 RETURNING *",
    "UPDATE t SET a = 0",
    "INSERT INTO t VALUES (1, 2)",
    "INSERT INTO t DEFAULT VALUES",
    "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN DELETE",
)
OTHERS = (
    "TRUNCATE t",
    "DROP TABLE t",
    "ALTER TABLE t DROP COLUMN a",
    "CREATE TABLE x (i int)",
    "GRANT ALL ON t TO PUBLIC",
    "CALL p()",
    "DO 'BEGIN END'",
    "SELECT f()",
    "VALUES (f())",
    "COPY t FROM '/etc/passwd'",
    "SET search_path = x",
    "LOCK TABLE t",
    "COMMENT ON TABLE t IS ''",
    "RESET ALL",
    "BEGIN",
    "CREATE EXTENSION x",
    "TABLE t",
)
EXPLAINS = ("EXPLAIN", "EXPLAIN ANALYZE", "EXPLAIN (ANALYZE)", "EXPLAIN (COSTS, ANALYZE true)", "EXPLAIN VERBOSE")


@pytest.mark.parametrize("statement", CORPUS["allowed"])
def test_what_looks_after_tables_is_allowed(statement):
    read_hook_statement(statement)


@pytest.mark.parametrize("statement", [*CORPUS["leave traces"], *CORPUS["refused all the same"]])
def test_all_else_is_refused_with_a_code_and_what_is_allowed(statement):
    with pytest.raises(StatementRefused) as caught:
        read_hook_statement(statement)
    assert caught.value.code in CODES
    assert caught.value.message.endswith(".")


@pytest.mark.parametrize("name", sorted(SETTINGS))
def test_every_listed_setting_can_be_set(name):
    assert read_hook_statement(f"SET {name} = '1'").setting == (name, "1")


def test_a_setting_is_read_from_the_grammar():
    assert read_hook_statement("SET LOCAL \"work_mem\" TO E'64\\x4d\\x42'").setting == ("work_mem", "64MB")
    assert read_hook_statement("SET SESSION random_page_cost=-1.5").setting == ("random_page_cost", "-1.5")


def test_only_an_explain_is_marked_as_one():
    assert read_hook_statement("EXPLAIN SELECT 1").explained
    assert not read_hook_statement("ANALYZE t").explained


# --- made up ------------------------------------------------------------------------------------------------------

spaces = st.sampled_from([" ", "\n", "\t", "\r\n", "\f", "  \n "])


@st.composite
def unlawful(draw: st.DrawFn) -> str:
    """A forbidden statement in disguise: in CTEs, after EXPLAIN, after an allowed statement, in any case."""
    change = draw(st.sampled_from(CHANGES))
    text = draw(
        st.one_of(
            st.sampled_from([*CHANGES, *OTHERS]),
            st.just(f"WITH d AS ({change}) SELECT 1"),
            st.just(f"WITH a AS (SELECT 1), d AS (WITH e AS ({change}) SELECT 1) TABLE a"),
            st.builds("{} {}".format, st.sampled_from(EXPLAINS), st.sampled_from(CHANGES)),
            st.builds("{} WITH d AS ({}) SELECT 1".format, st.sampled_from(EXPLAINS), st.sampled_from(CHANGES)),
            st.builds("{} SELECT * INTO x FROM t".format, st.sampled_from(EXPLAINS)),
            st.builds("{}; {}".format, st.sampled_from(CORPUS["allowed"]), st.sampled_from([*CHANGES, *OTHERS])),
            st.builds("{} /* {} */".format, st.sampled_from(CORPUS["allowed"]), st.just(change)),
        )
    )
    words = [draw(st.sampled_from([str.lower, str.upper, str.title]))(word) for word in text.split(" ")]
    return draw(spaces) + "".join(word + draw(spaces) for word in words) + draw(st.sampled_from(["", ";", ";;"]))


@given(unlawful())
def test_whatever_is_outside_of_the_list_is_refused_however_it_is_dressed(statement):
    with pytest.raises(StatementRefused):
        read_hook_statement(statement)


@given(
    st.text(max_size=60)
    | st.sampled_from(CORPUS["allowed"]).flatmap(
        lambda s: st.builds(s.replace, st.sampled_from(s.split() or [s]), st.text(max_size=12))
    )
)
def test_any_text_is_either_read_or_refused(text):
    with contextlib.suppress(StatementRefused):
        read_hook_statement(text)
