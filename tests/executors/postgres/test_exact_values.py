"""Values that the type of a column would round, truncate or change are refused like values of another type."""

from __future__ import annotations

from datetime import UTC, datetime, time

import pytest

from executors.postgres.refused import refuse_rows

TYPES = """
    CREATE DOMAIN tenths AS numeric(4,1);
    CREATE DOMAIN tenths_list AS tenths[];
    CREATE DOMAIN small AS smallint;
    CREATE DOMAIN day AS date;
    CREATE DOMAIN moment AS timestamp(0);
    CREATE DOMAIN short AS varchar(3);
    CREATE TYPE pair AS (a numeric(4,1), b text)"""


def refused(load, on_type_mismatch="skip"):
    """Return the records that are rejected, with the rule."""
    task = refuse_rows(load.conn, load.plan(), on_type_mismatch)
    if task is None:
        return []
    load.winners.append(task.task)
    load.staged += task.rows_staged
    load.rejected += task.rows_rejected
    return [(rule.rule_id, rule.violations) for rule in task.rules]


@pytest.mark.parametrize(
    ("declared", "accepted", "changed"),
    [
        ("numeric(4,1)[]", "{1.50,NULL}", "{1.5,1.55}"),
        ("numeric(4,1)[][]", "{{1.5},{2}}", "{{1.5},{2.55}}"),
        ("tenths", "1.50", "1.55"),
        ("tenths[]", "{1.5}", "{1.55}"),
        ("tenths_list", "{1.5}", "{1.55}"),
        ("pair", '(1.5,"a,b")', "(1.55,x)"),
        ("pair[]", '{"(1.5,x)"}', '{"(1.55,x)"}'),
        ("timestamp(0)", "2025-01-01 10:00:00", "2025-01-01 10:00:00.6"),
        ("timestamp(0)[]", "{2025-01-01 10:00:00.0}", "{2025-01-01 10:00:00.6}"),
        ("moment", "2025-01-01 10:00:00", "2025-01-01 10:00:00.6"),
        ("timestamp[]", "{2025-01-01 10:00:00.123456}", "{2025-01-01 10:00:00.1234567}"),
        ("timestamp[]", "{2025-01-01 10:00:00Z,infinity}", "{2025-01-01 10:00:00+02}"),
        ("timestamptz(3)", "2025-01-01 10:00:00.123Z", "2025-01-01 10:00:00.1236Z"),
        ("timestamptz(3)[]", "{2025-01-01 10:00:00.123+02}", "{2025-01-01 10:00:00.1236Z}"),
        ("time(0)", "23:59:59", "23:59:59.9"),
        ("time[]", "{23:59:59.123456}", "{23:59:59.9999999}"),
        ("time[]", "{10:00 am}", "{2025-01-01 10:00}"),
        ("timetz(0)", "23:59:59+02", "23:59:59.9+02"),
        ("date[]", "{2025-01-01}", "{2025-01-01 10:00}"),
        ("day", "2025-01-01", "20250101T100000"),
        ("tsrange", "[2025-01-01 10:00:00.5,)", "[2025-01-01 10:00:00.1234567,)"),
        ("interval year", "2 years", "2 years 3 mons"),
        ("interval day", "2 days", "2 days 05:00"),
        ("interval(0)", "2 secs", "1.6 sec"),
        ("interval", "1.5 hours", "1.1234567 sec"),
        ("money", "$1,234.50", "1.555"),
        ("money[]", '{1.5,"$1,234.50"}', "{1.555}"),
        ("short", "ab ", "abc "),
        ("varchar(3)[]", "{abc}", '{"abc "}'),
        ("name[]", "{abc}", "{" + "x" * 64 + "}"),
        ("numeric(2,-2)", "1200", "1250"),
        ("numeric(50,2)", "1.50", "1.505"),
    ],
)
def test_what_the_type_would_round_or_cut_is_refused(loading, make, rows, declared, accepted, changed):
    make(TYPES)
    make(f"CREATE TABLE t (id integer, v {declared})")
    load = loading("t", "id integer", "v")
    read = READ.get(load.columns[1].type.kind, str)
    load.stage([(1, read(accepted)), (2, read(changed)), (3, None)])
    assert refused(load) == [("type:v", 1)]
    load.commit()
    assert rows("SELECT id FROM t ORDER BY id") == [(1,), (3,)]


READ = {
    "timestamp": datetime.fromisoformat,
    "timestamptz": lambda text: datetime.fromisoformat(text).astimezone(UTC),
    "time": time.fromisoformat,
}
"""Values of these types come typed."""


WHOLE = ("1_0", "0x10", "0o17", "0b1", "1e1", "1.0")
DECIMAL = ("0x10", "1_000", "nan", "inf", "infinity")


@pytest.mark.parametrize(
    ("declared", "good", "bad"),
    [
        ("smallint", ("10", "-7", "+7", " 007 "), WHOLE),
        ("small", ("10",), WHOLE),
        ("integer[]", ("{10,-7}",), tuple(f"{{{number}}}" for number in WHOLE)),
        ("oid", ("10", "0"), ("010", "-1", *WHOLE)),
        ("numeric", ("1.5", "-.5e3", "NaN", "Infinity", "-Infinity", "1."), DECIMAL),
        ("numeric(60,5)", ("1.5", "1e3", "0.100000"), ("NaN", "Infinity", *DECIMAL)),
        ("numeric[]", ("{1.5,NaN}",), tuple(f"{{{number}}}" for number in DECIMAL)),
        ("real", ("1.5", "1e3", "NaN", "-Infinity"), ("0x1p3", "1_0", "nan", "inf", "1,5")),
        ("float8[]", ("{1.5,NaN}",), ("{0x1p3}", "{nan}")),
        ("int4range", ("[1,20)", "empty"), ("[1_0,20)", "[0x1,20)")),
        ("numrange", ("[1.5,2e3)", "(,)"), ("[1_0,20)", "[0x1,20)")),
    ],
)
def test_numbers_of_a_kind_have_one_grammar_on_every_server(loading, make, rows, declared, good, bad):
    make(TYPES)
    make(f"CREATE TABLE t (id integer, v {declared})")
    load = loading("t", "id integer", "v")
    load.stage(list(enumerate((*good, *bad))))
    assert refused(load) == [("type:v", len(bad))]
    load.commit()
    assert rows("SELECT count(*) FROM t") == [(len(good),)]


def test_a_refused_value_is_reported_with_its_column_and_type(loading, make):
    make("CREATE TABLE t (at timestamp(0))")
    load = loading("t", "at timestamp")
    load.stage([(datetime(2025, 1, 1, 10, 0, 0, 600000),)])
    (rule,) = refuse_rows(load.conn, load.plan(), "skip").rules
    assert (rule.field, rule.message) == ("at", "does not fit timestamp(0) without time zone")
    accepted = load.conn.execute(f"SELECT row::jsonb FROM flow_staging.{load.tables.rejects}").fetchone()
    assert accepted == ({"at": "2025-01-01T10:00:00.6"},)


def test_a_more_precise_value_becomes_null_if_configured(loading, make, rows):
    make("CREATE TABLE t (id integer, at timestamp(0))")
    load = loading("t", "id integer", "at timestamp")
    load.stage([(1, datetime(2025, 1, 1, 10, 0, 0, 600000))])
    assert refused(load, "null") == [("type:at", 1)]
    load.commit()
    assert rows("SELECT id, at FROM t") == [(1, None)]


@pytest.mark.parametrize(
    "declared", ["text", "integer", "numeric(10,2)", "varchar(9)", "timestamp", "timestamp(6)", "time", "boolean"]
)
def test_common_types_are_not_looked_at_again(loading, make, declared):
    make(f"CREATE TABLE t (v {declared})")
    assert refuse_rows((load := loading("t", "v")).conn, load.plan(), "abort") is None


@pytest.mark.parametrize(
    ("declared", "one", "other", "fitting"),
    [
        ("timestamp(0)", "2025-01-01 10:00:00.1", "2025-01-01 10:00:00.4", "2025-01-01 10:00:00"),
        ("timestamptz(3)", "2025-01-01 10:00:00.1231Z", "2025-01-01 10:00:00.1234Z", "2025-01-01 10:00:00.123Z"),
        ("time(0)", "10:00:00.1", "10:00:00.4", "10:00:00"),
        ("interval(0)", "1.1 sec", "1.4 sec", "1 sec"),
    ],
)
def test_keys_that_rounding_would_make_one_are_refused(loading, make, rows, declared, one, other, fitting):
    make(f"CREATE TABLE t (k {declared} PRIMARY KEY, v text)")
    load = loading("t", "k", "v", mode="upsert", upsert_key=["k"])
    read = READ.get(load.columns[0].type.kind, str)
    load.stage([(read(one), "a"), (read(other), "b"), (read(fitting), "c")])
    assert refused(load) == [("type:k", 2)]
    assert load.commit().inserted == 1
    assert rows("SELECT v FROM t") == [("c",)]


def test_keys_that_are_one_as_the_column_stores_them_leave_the_last_row(loading, make, rows):
    make("CREATE TABLE t (k real PRIMARY KEY, v text)")
    load = loading("t", "k", "v", mode="upsert", upsert_key=["k"])
    load.stage([("0.1", "a"), ("0.10000000001", "b")])
    assert refused(load) == []
    assert load.commit().replaced == 1
    assert rows("SELECT v FROM t") == [("b",)]
