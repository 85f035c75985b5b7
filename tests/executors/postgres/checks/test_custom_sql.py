"""`customSql`: its input, its limits, and the content of its messages."""

from __future__ import annotations

import pytest

from executors.errors import Terminal
from ir.checks import CustomSql
from tests.ir.test_queries import REFUSED


def query(text, message=None):
    return CustomSql.read({"query": text, "onFail": "warn"} | ({"message": message} if message else {}))


@pytest.fixture
def load(staged):
    return staged('a integer, b uuid, "C" text', [(1, "6f1c1f9e-0000-4000-8000-000000000001", "x%s"), (2, None, "y")])


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("SELECT * FROM input", 2),
        ("SELECT 1 FROM input WHERE a < 0", 0),
        ("SELECT a FROM input WHERE b = '6f1c1f9e-0000-4000-8000-000000000001'::uuid -- typed", 1),
        ("SELECT FROM input WHERE \"C\" LIKE '%' || chr(37) || 's'", 1),
        ("WITH big AS (SELECT * FROM input WHERE a > 1) SELECT * FROM big", 1),
        ("SELECT i.a FROM input i JOIN input j ON i.a < j.a;", 1),
        ("TABLE input", 2),
        ("VALUES (1)", 1),
    ],
)
def test_rows_that_it_gives_are_wrong_and_counted(load, checking, text, rows):
    check = query(text)
    checking.probe(load, check)
    report = checking.run(load, check)
    assert (report.ok, report.observed) == (rows == 0, rows)


def test_a_message_reports_the_count_and_the_authors_words(load, checking):
    report = checking.run(load, query("SELECT * FROM input", "totals must add up"))
    assert report.message == "the query returned 2 rows: totals must add up"
    assert report.subject == "totals must add up"


def test_other_tables_are_named_with_their_schema(load, checking, make, schema):
    make("CREATE TABLE known (id integer)")
    make("INSERT INTO known VALUES (1)")
    check = query(f"SELECT * FROM input WHERE a NOT IN (SELECT id FROM {schema}.known)")
    checking.probe(load, check)
    assert checking.run(load, check).observed == 1


def test_it_runs_without_staged_rows(staged, checking):
    load = staged("a integer", [])
    check = query("SELECT 1 WHERE (SELECT count(*) FROM input) = 0")
    checking.probe(load, check)
    assert not checking.run(load, check).ok


def test_an_error_of_the_data_fails_the_check_and_reports_no_value(staged, checking):
    load = staged("a text", [("secret",)])
    report = checking.run(load, query("SELECT 1 FROM input WHERE a::integer > 0"))
    assert not report.ok
    assert "secret" not in report.message
    assert report.message == "the query failed with an error of the class InvalidTextRepresentation (SQLSTATE 22P02)"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("SELECT nothing FROM input", "nothing"),
        ("SELECT * FROM nowhere.at_all", "nowhere"),
        ("SELECT * FROM input WHERE date(b) = c", "date"),
    ],
)
def test_what_cannot_run_is_found_before_the_read(load, checking, text, says):
    with pytest.raises(Terminal, match=says) as raised:
        checking.probe(load, query(text))
    assert (raised.value.code, raised.value.node) == ("check.query_failed", "check")


def test_a_function_that_may_write_is_refused_before_the_read(load, checking, make, schema):
    make("CREATE FUNCTION wipe() RETURNS integer LANGUAGE sql AS 'DELETE FROM t RETURNING 1'")
    with pytest.raises(Terminal, match=r"query\.function_not_allowed.*wipe"):
        checking.probe(load, query(f"SELECT {schema}.wipe()"))
    checking.allowed = (f"{schema}.wipe",)
    with pytest.raises(Terminal, match=r"query\.not_allowed.*wipe"):
        checking.probe(load, query(f"SELECT {schema}.wipe()"))


def test_a_function_that_lies_about_itself_cannot_write(load, checking, make, rows, schema):
    make("INSERT INTO t (a) VALUES (7)")
    make(
        "CREATE FUNCTION wipe() RETURNS integer STABLE LANGUAGE plpgsql AS"
        f" 'BEGIN EXECUTE ''DELETE FROM {schema}.t''; RETURN 1; END'"
    )
    checking.allowed = (f"{schema}.wipe",)
    with pytest.raises(Terminal, match=r"function_failed.*wipe\(\), SQLSTATE 0A000"):
        checking.run(load, query(f"SELECT 1 FROM input WHERE {schema}.wipe() > 0"))
    assert rows("SELECT count(*) FROM t") == [(1,)]


@pytest.mark.parametrize("text", [*REFUSED, "SELECT * FROM t"])
def test_what_the_guard_refuses_is_refused_again_at_the_run(load, checking, text):
    with pytest.raises(Terminal):
        checking.probe(load, query(text))


def test_a_query_that_takes_too_long_is_ended(load, checking):
    slow = query("SELECT 1 FROM generate_series(1, 100000) AS a, generate_series(1, 100000) AS b WHERE a + b < 0")
    checking.probe(load, slow)  # which does not run it
    with pytest.raises(Terminal, match="exceeded the limit"):
        checking.run(load, slow)


def test_an_error_of_a_constant_fails_the_check_as_well(load, checking):
    check = query("SELECT 1 WHERE 1 / 0 > 0")
    checking.probe(load, check)
    assert checking.run(load, check).message.startswith("the query failed with an error of the class DivisionByZero")


STRICT = "RETURNS text STABLE LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'bad value %', t{}; END $$"


def test_what_a_function_raises_is_not_reported(load, checking, make, schema):
    make(f"CREATE FUNCTION {schema}.strict(t text) {STRICT.format('')}")
    checking.allowed = (f"{schema}.strict",)
    check = query(f'SELECT FROM input WHERE {schema}.strict("C") IS NULL')
    checking.probe(load, check)
    report = checking.run(load, check)
    assert report.message == "the query failed with an error of the class RaiseException (SQLSTATE P0001)"


def test_what_a_function_raises_as_an_unknown_name_is_not_reported(load, checking, make, schema):
    unknown = STRICT.format(" USING ERRCODE = '42P01'")
    make(f"CREATE FUNCTION {schema}.strict(t text) {unknown}")
    checking.allowed = (f"{schema}.strict",)
    with pytest.raises(Terminal, match=r"it fails in function .+\.strict\(text\), SQLSTATE 42P01") as raised:
        checking.run(load, query(f'SELECT FROM input WHERE {schema}.strict("C") IS NULL'))
    assert "bad value" not in raised.value.message
