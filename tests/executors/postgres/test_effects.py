"""The changes of a load, counted in staging: the same numbers as those of the load, and nothing is written."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from executors.errors import Terminal
from executors.postgres.preview import count_effect, count_null_rates, refuse_repeats
from tests.properties import examples

HOLDS = "SELECT k, v, n FROM t ORDER BY k"
ROWS = st.lists(
    st.tuples(st.integers(1, 6), st.one_of(st.none(), st.sampled_from(["a", "A", "b"])), st.integers(0, 2)), max_size=8
)
SEVERAL = settings(max_examples=examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def table(make):
    make("CREATE TABLE t (k integer PRIMARY KEY, v text, n numeric(4,1))")
    return lambda rows: [make(f"INSERT INTO t VALUES ({k}, {_literal(v)}, {n})") for k, v, n in rows]


def _literal(value):
    return "NULL" if value is None else f"'{value}'"


def once_each(rows):
    return list({row[0]: row for row in rows}.values())


def start(loading, mode, rows, **fields):
    load = loading("t", "k integer", "v", "n decimal(4,1)", mode=mode, **fields)
    load.stage(rows)
    return load


@SEVERAL
@given(there=ROWS, staged=ROWS)
def test_upsert_reports_what_it_then_does(loading, table, make, rows, there, staged):
    make("TRUNCATE t")
    table(once_each(there))
    load = start(loading, "upsert", staged, upsert_key=["k"])
    before = rows(HOLDS)
    effect = count_effect(load.conn, load.plan())
    assert rows(HOLDS) == before
    done = load.commit()
    assert (effect.inserted, effect.updated, effect.unchanged, effect.replaced) == (
        done.inserted,
        done.updated,
        done.unchanged,
        done.replaced,
    )
    after = rows(HOLDS)
    assert (effect.before, effect.after) == (len(before), len(after))
    changed = [(b, a) for b in before for a in after if b[0] == a[0] and a != b]
    assert effect.keys.columns == {
        name: count for place, name in ((1, "v"), (2, "n")) if (count := sum(b[place] != a[place] for b, a in changed))
    }
    assert [sample.key["k"] for sample in effect.keys.samples] == [str(b[0]) for b, _ in changed]
    for sample, (b, a) in zip(effect.keys.samples, changed, strict=True):
        wanted = {"v": [b[1], a[1]], "n": [str(b[2]), str(a[2])]}
        assert {name: list(pair) for name, pair in sample.changes.items()} == {
            name: pair for name, pair in wanted.items() if pair[0] != pair[1]
        }


@SEVERAL
@given(there=ROWS, staged=ROWS)
def test_truncate_reports_what_goes_and_which_keys_stay(loading, table, make, rows, there, staged):
    make("TRUNCATE t")
    table(once_each(there))
    load = start(loading, "truncate", once_each(staged))
    before = {row[0]: row for row in rows(HOLDS)}
    effect = count_effect(load.conn, load.plan())
    done = load.commit()
    after = {row[0]: row for row in rows(HOLDS)}
    assert (effect.deleted, effect.inserted, effect.after) == (len(before), done.inserted, len(after))
    stay = before.keys() & after.keys()
    assert (effect.keys.new, effect.keys.changed, effect.keys.same, effect.keys.gone) == (
        len(after.keys() - before.keys()),
        sum(before[k] != after[k] for k in stay),
        sum(before[k] == after[k] for k in stay),
        len(before.keys() - after.keys()),
    )


def test_append_adds_all_rows(loading, table, rows):
    table([(1, "a", 0)])
    load = start(loading, "append", [(2, "b", 0), (3, None, 0)])
    effect = count_effect(load.conn, load.plan())
    assert (effect.before, effect.inserted, effect.after, effect.keys) == (1, 2, 3, None)
    assert len(rows(HOLDS)) == 1


def test_a_table_without_a_key_has_no_keys_to_match(loading, make):
    make("CREATE TABLE u (k integer, v text); INSERT INTO u VALUES (1, 'a')")
    load = loading("u", "k integer", "v", mode="truncate")
    load.stage([(1, "b")])
    assert count_effect(load.conn, load.plan()).keys is None


def test_samples_are_bounded_and_their_values_cut(loading, table):
    table([(k, "a", 0) for k in range(30)])
    load = start(loading, "upsert", [(k, "b" * 500, 0) for k in range(30)], upsert_key=["k"])
    keys = count_effect(load.conn, load.plan()).keys
    assert (keys.changed, len(keys.samples)) == (30, 20)
    assert keys.samples[0].changes["v"] == ("a", "b" * 200)


def test_a_value_that_the_column_rounds_to_what_it_holds_changes_nothing(loading, make):
    make("CREATE TABLE t (k integer PRIMARY KEY, at timestamp(0)); INSERT INTO t VALUES (1, '2026-01-01 00:00:01')")
    load = loading("t", "k integer", "at timestamp", mode="upsert", upsert_key=["k"])
    load.stage([(1, datetime(2026, 1, 1, 0, 0, 0, 700_000))])
    effect = count_effect(load.conn, load.plan())
    done = load.commit()
    assert (effect.updated, effect.unchanged) == (done.updated, done.unchanged) == (0, 1)


def test_repeated_keys_are_reported_like_by_the_load(loading, table):
    table([(1, "a", 0)])
    load = start(loading, "append", [(1, "b", 0)])
    with pytest.raises(Terminal) as reported:
        refuse_repeats(load.conn, load.plan())
    with pytest.raises(Terminal) as failed:
        load.commit()
    assert reported.value.code == failed.value.code
    assert "t_pkey" in reported.value.message


def test_null_rates_of_both_sides(loading, table):
    table([(1, None, 0), (2, "a", 0)])
    load = start(loading, "upsert", [(3, None, 0), (4, None, 0), (5, "x", 0), (6, None, 0)], upsert_key=["k"])
    rates = count_null_rates(load.conn, load.plan())["v"]
    assert (rates.before, rates.staged) == (0.5, 0.75)


def test_nothing_is_compared_with_an_empty_table(loading, table):
    load = start(loading, "append", [(1, None, 0)])
    assert count_null_rates(load.conn, load.plan()) == {}
