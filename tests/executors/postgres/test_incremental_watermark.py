"""incremental_watermark: the rows above, at and below the watermark that are loaded, and the new watermark."""

from __future__ import annotations

import datetime
import time
from collections import Counter
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from executors.errors import LeaseLost, Terminal, Transient
from executors.postgres import boundary_rows as boundary_rows_module
from executors.postgres.fences import raise_fence
from executors.postgres.incremental_range import open_range
from executors.postgres.inspect import inspect_target
from executors.postgres.preview import count_effect
from executors.postgres.skipped_rows import skip_rows
from executors.postgres.watermarks import (
    WatermarkKey,
    count_boundary_rows,
    find_watermark,
    list_changes,
    reset_watermark,
    set_watermark,
)
from executors.table_name import TableName
from tests.executors.postgres.conftest import TENANT
from tests.properties import examples

MODE = "incremental_watermark"
UTC = datetime.UTC


class Incremental:
    """Loads of one table, one after the other, as a pipeline runs them."""

    def __init__(self, loading, conn, schema):
        self._loading, self.conn, self.schema = loading, conn, schema
        self.columns, self.column = ("id integer", "upd timestamp"), "upd"
        self.key = WatermarkKey(TENANT, f"p-{schema}", TableName(schema, "t"))

    def start(self, rows, *, lag=None, columns=None, **options):
        """Stage the rows of a load and exclude those below the watermark. Returns the plan of the load."""
        if lag is not None:
            options["watermark_lag"] = lag
        load = self._loading("t", *(columns or self.columns), mode=MODE, watermark_column=self.column, **options)
        rows_range = open_range(self.conn, TENANT, load.run.pipeline, load.target)
        load.stage(rows)
        return load, self.skipped(load, rows_range)

    def skipped(self, load, rows_range):
        skipped = skip_rows(self.conn, load.plan(rows_range=rows_range), rows_range)
        return {"rows_range": rows_range, "skipped": skipped, "staged": load.staged - skipped.rows}

    def run(self, rows, **options):
        """Run a load. Returns (loaded, below the bound, read again)."""
        load, changes = self.start(rows, **options)
        counts = load.commit(**changes)
        assert counts.staged == len(rows) == counts.loaded + counts.below_bound + counts.read_again
        return counts.loaded, counts.below_bound, counts.read_again

    @property
    def watermark(self):
        with self.conn.transaction():
            found = find_watermark(self.conn, self.key)
        return found and found.value

    def boundary_rows(self):
        with self.conn.transaction():
            found = find_watermark(self.conn, self.key)
        return count_boundary_rows(self.conn, found) if found else 0

    def history(self):
        return [(c.action, c.old, c.new) for c in list_changes(self.conn, self.key)][::-1]

    def set(self, value, by="ann@example.com", reason="a test"):
        column = inspect_target(self.conn, self.schema, "t").column(self.column)
        set_watermark(self.conn, self.key, column, value, by=by, reason=reason)

    def reset(self):
        return reset_watermark(self.conn, self.key, by="ann@example.com", reason="a test")


@pytest.fixture
def incremental(loading, conn, schema):
    return Incremental(loading, conn, schema)


@pytest.fixture
def table(make):
    make("CREATE TABLE t (id integer, upd timestamp NOT NULL)")


def at(text):
    return datetime.datetime.fromisoformat(f"2026-01-01 {text}")


FIRST = [(1, at("10:00:00")), (2, at("10:00:00"))]
LATE = [(3, at("10:00:00")), (4, at("10:00:01"))]


# --- boundary rows (B01)
# ---------------------------------------------------------------------------------------------------


def test_rows_tied_with_the_watermark_that_come_later_are_loaded_once(incremental, table, rows):
    assert incremental.run(FIRST) == (2, 0, 0)
    assert incremental.run(FIRST + LATE) == (2, 0, 2)
    assert incremental.run(FIRST + LATE) == (0, 3, 1)
    assert rows("SELECT id FROM t ORDER BY id") == [(1,), (2,), (3,), (4,)]
    assert incremental.watermark == "2026-01-01 10:00:01"


def test_a_source_that_sends_no_row_below_the_bound_gives_the_same(incremental, table, rows):
    incremental.run(FIRST)
    incremental.run(LATE)
    assert incremental.run([LATE[1]]) == (0, 0, 1)
    assert rows("SELECT id FROM t ORDER BY id") == [(1,), (2,), (3,), (4,)]


def test_rows_read_again_by_one_task_take_no_rows_of_another_with_them(incremental, table, rows):
    incremental.run(FIRST)
    load = incremental._loading("t", *incremental.columns, mode=MODE, watermark_column="upd")
    rows_range = open_range(incremental.conn, TENANT, load.run.pipeline, load.target)
    load.stage([FIRST[0]], task=1)
    load.stage([LATE[0]], task=2, first=2)
    counts = load.commit(**incremental.skipped(load, rows_range))
    assert (counts.loaded, counts.read_again) == (1, 1)
    assert rows("SELECT id FROM t ORDER BY id") == [(1,), (2,), (3,)]


def test_two_equal_rows_stay_two(incremental, table, rows):
    twin = (1, at("10:00:00"))
    assert incremental.run([twin, twin]) == (2, 0, 0)
    assert incremental.run([twin, twin, twin]) == (1, 0, 2)
    assert rows("SELECT count(*) FROM t") == [(3,)]


def test_null_and_empty_text_are_different_rows(incremental, make, rows):
    make("CREATE TABLE t (note text, upd timestamp NOT NULL)")
    incremental.columns = ("note", "upd timestamp")
    incremental.run([(None, at("10:00:00"))])
    assert incremental.run([(None, at("10:00:00")), ("", at("10:00:00"))]) == (1, 0, 1)


def test_rows_with_cells_that_hold_what_separates_cells_are_different_rows(incremental, make):
    make("CREATE TABLE t (a text, b text, upd timestamp NOT NULL)")
    incremental.columns = ("a", "b", "upd timestamp")
    incremental.run([("x,y", "z", at("10:00:00"))])
    assert incremental.run([("x", "y,z", at("10:00:00")), ('x","y', "z", at("10:00:00"))]) == (2, 0, 0)


def test_rows_below_the_watermark_are_counted_and_not_loaded(incremental, table, rows):
    incremental.run([(4, at("10:00:01"))])
    assert incremental.run([(5, at("10:00:00")), (6, at("10:00:02"))]) == (1, 1, 0)
    assert rows("SELECT id FROM t ORDER BY id") == [(4,), (6,)]


def test_the_watermark_never_sinks(incremental, table):
    incremental.run(LATE)
    incremental.run(FIRST)
    assert incremental.watermark == "2026-01-01 10:00:01"


def test_a_load_without_rows_changes_nothing(incremental, table):
    assert incremental.run([]) == (0, 0, 0)
    assert incremental.watermark is None
    incremental.run(FIRST)
    incremental.run([])
    assert (incremental.watermark, incremental.boundary_rows()) == ("2026-01-01 10:00:00", 2)
    assert incremental.history() == [("run", None, "2026-01-01 10:00:00")]


def test_too_many_boundary_rows_stop_the_load_and_advise_upsert(incremental, table, rows, monkeypatch):
    monkeypatch.setattr(boundary_rows_module, "MOST_BOUNDARY_ROWS", 2)
    incremental.run(FIRST)
    with pytest.raises(Terminal, match=r"watermark\.too_many_ties") as stopped:
        incremental.run([*FIRST, LATE[0]])
    assert "upsert" in stopped.value.hint
    assert rows("SELECT count(*) FROM t") == [(2,)]
    assert incremental.boundary_rows() == 2


def test_only_rows_at_or_above_the_bound_are_remembered(incremental, table):
    incremental.run(FIRST + LATE)
    assert incremental.boundary_rows() == 1


# --- the first load -----------------------------------------------------------------------------------------------


def test_the_first_load_goes_on_from_what_the_table_holds(incremental, table, make, rows):
    make("INSERT INTO t VALUES (1, '2026-01-01 10:00:00'), (9, '2026-01-01 09:00:00')")
    assert incremental.run([(7, at("09:30:00")), *FIRST, *LATE]) == (3, 1, 1)
    assert rows("SELECT id FROM t ORDER BY id") == [(1,), (2,), (3,), (4,), (9,)]


def test_the_first_load_does_not_begin_at_rows_of_inheriting_tables(incremental, table, make, rows):
    make("CREATE TABLE heir () INHERITS (t); INSERT INTO heir VALUES (9, '2027-01-01 00:00:00')")
    assert incremental.run(FIRST) == (2, 0, 0)


def test_the_first_load_of_an_empty_table_loads_all(incremental, table):
    assert incremental.run([(0, datetime.datetime(1, 1, 1)), *FIRST]) == (3, 0, 0)


def test_infinity_in_the_table_is_no_watermark(incremental, table, make):
    make("INSERT INTO t VALUES (0, 'infinity'), (1, '2026-01-01 10:00:00')")
    assert incremental.run(FIRST) == (1, 0, 1)


def test_a_watermark_stays_after_its_rows_are_deleted(incremental, table, make):
    incremental.run(FIRST)
    make("DELETE FROM t")
    assert incremental.run([(0, at("09:00:00")), *FIRST]) == (0, 1, 2)


# --- rows that no watermark may follow
# ---------------------------------------------------------------------------------


FUTURE = datetime.datetime(2099, 1, 1)


@pytest.mark.parametrize("lag", [None, "1h"])
def test_a_row_dated_in_the_future_does_not_move_the_watermark_beyond_later_rows(incremental, table, rows, lag):
    batch = [*FIRST, (9, FUTURE)]
    assert incremental.run(batch, lag=lag) == (3, 0, 0)
    assert incremental.watermark == "2026-01-01 10:00:00"
    assert incremental.run([*batch, *LATE], lag=lag) == (2, 0, 3)
    assert incremental.run([*batch, *LATE, (10, FUTURE)], lag=lag) == (1, 0 if lag else 3, 5 if lag else 2)
    assert rows("SELECT id FROM t ORDER BY id") == [(1,), (2,), (3,), (4,), (9,), (10,)]


def test_rows_dated_in_the_future_are_counted_once(incremental, table, conn):
    load, changes = incremental.start([*FIRST, (9, FUTURE), (10, FUTURE)])
    assert count_effect(conn, load.plan(**changes)).ahead == 2
    assert load.commit(**changes).ahead == 2
    load, changes = incremental.start([*FIRST, (9, FUTURE), (10, FUTURE)])
    assert load.commit(**changes).ahead == 0


def test_rows_dated_in_the_future_alone_leave_all_others_to_come(incremental, table, rows):
    assert incremental.run([(9, FUTURE)]) == (1, 0, 0)
    assert incremental.watermark == "-infinity"
    assert incremental.run([(9, FUTURE), *FIRST]) == (2, 0, 1)
    assert incremental.watermark == "2026-01-01 10:00:00"


def test_a_row_of_the_table_that_is_dated_in_the_future_is_no_watermark(incremental, table, make):
    make("INSERT INTO t VALUES (9, '2099-01-01'), (8, 'infinity'), (1, '2026-01-01 10:00:00')")
    assert incremental.run([*FIRST, (9, FUTURE)]) == (1, 0, 2)
    assert incremental.watermark == "2026-01-01 10:00:00"


def test_rows_of_the_table_that_are_all_dated_in_the_future_are_known(incremental, table, make):
    make("INSERT INTO t VALUES (9, '2099-01-01')")
    assert incremental.run([*FIRST, (9, FUTURE)]) == (2, 0, 1)


def test_the_watermark_reaches_a_future_row_when_its_time_has_come(incremental, make, rows):
    make("CREATE TABLE t (id integer, upd timestamptz NOT NULL)")
    incremental.columns = ("id integer", "upd timestamptz")
    soon = (1, datetime.datetime.now(UTC) + datetime.timedelta(seconds=1.5))
    incremental.run([soon])
    assert incremental.watermark == "-infinity"
    time.sleep(2)
    assert incremental.run([soon, (2, soon[1])]) == (1, 0, 1)
    assert incremental.watermark != "-infinity"


def test_hashes_of_future_rows_keep_their_columns(incremental, table, make):
    incremental.run([*FIRST, (9, FUTURE)])
    make("ALTER TABLE t ADD COLUMN note text")
    columns = ("id integer", "upd timestamp", "note")
    incremental.run([(4, at("10:00:01"), "a")], columns=columns)
    assert incremental.run([(9, FUTURE, "a"), (5, at("10:00:02"), "b")], columns=columns) == (1, 0, 1)


@pytest.mark.parametrize(
    ("declared", "kind", "past", "ahead", "next_one"),
    [
        ("date", "date", datetime.date(2026, 1, 1), datetime.date(2099, 1, 1), datetime.date(2026, 1, 2)),
        (
            "timestamptz",
            "timestamptz",
            datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
            datetime.datetime(2099, 1, 1, tzinfo=datetime.UTC),
            datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC),
        ),
        ("timestamp", "pg:timestamp without time zone", "2026-01-01", "infinity", "2026-01-02"),
        ("timestamptz(3)", "pg:timestamp(3) with time zone", "2026-01-01", "infinity", "2026-01-02"),
        ("date", "pg:date", "2026-01-01", "infinity", "2026-01-02"),
        ("numeric", "string", "1", "NaN", "2"),
        ("numeric", "string", "1", "Infinity", "2"),
    ],
)
def test_what_nothing_can_pass_is_no_watermark_in_any_type(incremental, make, declared, kind, past, ahead, next_one):
    make(f"CREATE TABLE t (id integer, upd {declared} NOT NULL)")
    incremental.columns = ("id integer", f"upd {kind}")
    assert incremental.run([(1, past), (2, ahead)]) == (2, 0, 0)
    assert incremental.run([(1, past), (2, ahead), (3, next_one)]) == (1, 0, 2)
    assert incremental.run([(2, ahead), (3, next_one)]) == (0, 0, 2)


@pytest.mark.parametrize("zone", ["Pacific/Auckland", "America/Los_Angeles"])
def test_the_clock_is_that_of_the_database_in_utc_whatever_the_session_s_time_zone(incremental, table, conn, zone):
    ahead = datetime.datetime.now(UTC).replace(tzinfo=None) + datetime.timedelta(hours=1)
    load, changes = incremental.start([(1, ahead), (2, ahead - datetime.timedelta(hours=2))])
    assert load.commit(**changes, settings={"timezone": zone}).ahead == 1


@pytest.mark.parametrize(
    ("declared", "kind", "ahead"),
    [
        ("timestamp", "timestamp", datetime.datetime.now(UTC).replace(tzinfo=None) + datetime.timedelta(days=1)),
        ("timestamptz", "timestamptz", datetime.datetime.now(UTC) + datetime.timedelta(days=1)),
        ("date", "date", datetime.datetime.now(UTC).date() + datetime.timedelta(days=1)),
    ],
)
def test_a_lead_lets_the_watermark_go_beyond_the_clock_that_far(incremental, make, declared, kind, ahead):
    make(f"CREATE TABLE t (id integer, upd {declared} NOT NULL)")
    incremental.columns = ("id integer", f"upd {kind}")
    batch = [(1, ahead), (2, ahead + datetime.timedelta(days=9))]
    load, changes = incremental.start(batch, watermark_lead="3d")
    assert load.commit(**changes).ahead == 1
    assert incremental.watermark.startswith(f"{ahead:%Y-%m-%d}")
    assert incremental.run(batch, watermark_lead="3d") == (0, 0, 2)


def test_a_lead_in_hours_reaches_the_next_day(incremental, make):
    make("CREATE TABLE t (id integer, upd date NOT NULL)")
    incremental.columns = ("id integer", "upd date")
    now = datetime.datetime.now(UTC)
    load, changes = incremental.start(
        [(1, now.date() + datetime.timedelta(days=1))], watermark_lead=f"{25 - now.hour}h"
    )
    assert load.commit(**changes).ahead == 0


def test_a_lead_needs_a_watermark_of_time(incremental, make):
    make("CREATE TABLE t (id integer, upd bigint NOT NULL)")
    with pytest.raises(Terminal, match=r"watermark\.lead_mismatch"):
        incremental.start([], watermark_lead="1h")


def test_a_person_cannot_set_the_watermark_beyond_the_clock(incremental, table):
    incremental.run(FIRST)
    with pytest.raises(Terminal, match=r"watermark\.value_in_future"):
        incremental.set("2099-01-01 00:00:00")
    assert incremental.watermark == "2026-01-01 10:00:00"


# --- types (B03) --------------------------------------------------------------------------------------------------


def moment(microseconds, zone=None):
    return datetime.datetime(2026, 1, 1, 10, 0, 0, microseconds, tzinfo=zone)


TYPES = {
    "timestamp(6)": ("timestamp", [moment(123456)], [moment(123457), moment(123900)], "2026-01-01 10:00:00.1239"),
    "timestamptz": (
        "timestamptz",
        [moment(123456, UTC)],
        [moment(123457, UTC), moment(123900, UTC)],
        "2026-01-01 10:00:00.1239+00",
    ),
    "bigint": (
        "bigint",
        [9007199254740993],
        [9007199254740994, 9007199254740995],
        "9007199254740995",
    ),
    "integer": ("integer", [9], [10, 11], "11"),
    "smallint": ("string", ["9"], ["10", "11"], "11"),
    "numeric(30,10)": (
        "string",
        [Decimal("9007199254740993.0000000001")],
        [Decimal("9007199254740993.0000000002"), Decimal("9007199254740993.0000000003")],
        "9007199254740993.0000000003",
    ),
    "numeric": (
        "string",
        ["9"],
        ["10.00000000000000000000000001", "10.00000000000000000000000002"],
        "10.00000000000000000000000002",
    ),
    "date": (
        "date",
        [datetime.date(2026, 1, 9)],
        [datetime.date(2026, 1, 10), datetime.date(2026, 2, 1)],
        "2026-02-01",
    ),
    "text": ("string", ["a9"], ["b1", "é"], "é"),
    "varchar(9)": ("string", ["Z"], ["a", "b"], "b"),
    "char(4)": ("string", ["Z"], ["a", "b"], "b"),
}


@pytest.mark.parametrize("declared", TYPES)
def test_the_watermark_is_exact_in_every_type(incremental, make, rows, declared):
    kind, first, more, watermark = TYPES[declared]
    make(f"CREATE TABLE t (id integer, upd {declared} NOT NULL)")
    incremental.columns = ("id integer", f"upd {kind}")
    first, more = [(0, v) for v in first], [(n, v) for n, v in enumerate(more, 1)]
    assert incremental.run(first) == (1, 0, 0)
    assert incremental.run(first) == (0, 0, 1)
    assert incremental.run(first + more) == (2, 0, 1)
    assert incremental.run(first + more) == (0, 2, 1)
    assert incremental.watermark == watermark
    assert rows("SELECT max(upd)::text FROM t WHERE id = 2") == [(watermark,)]


@pytest.mark.parametrize("declared", ["boolean", "jsonb", "uuid", "double precision", "point", "interval", "text[]"])
def test_a_type_without_an_order_is_refused(incremental, make, declared):
    make(f"CREATE TABLE t (id integer, upd {declared})")
    incremental.columns = ("id integer", "upd")
    with pytest.raises(Terminal) as stopped:
        incremental.start([])
    assert stopped.value.code == "watermark.column_unordered"


def test_a_number_may_become_wider(incremental, make):
    make("CREATE TABLE t (id integer, upd integer NOT NULL)")
    incremental.columns = ("id integer", "upd integer")
    incremental.run([(1, 5)])
    make("ALTER TABLE t ALTER upd TYPE bigint")
    incremental.columns = ("id integer", "upd bigint")
    assert incremental.run([(0, 4), (1, 5), (2, 2**40)]) == (1, 1, 1)


def test_another_type_or_column_asks_for_a_person(incremental, make, rows):
    make("CREATE TABLE t (id integer NOT NULL, upd timestamp NOT NULL)")
    incremental.run(FIRST)
    incremental.column = "id"
    with pytest.raises(Terminal, match=r"watermark\.changed"):
        incremental.start([])
    incremental.reset()
    assert incremental.run([(2, at("11:00:00")), (3, at("11:00:00"))]) == (2, 0, 0)
    assert incremental.watermark == "3"


def test_a_column_that_the_table_lacks_is_refused(incremental, make):
    make("CREATE TABLE t (id integer)")
    with pytest.raises(Terminal, match=r"watermark\.column_unknown"):
        incremental.start([], columns=["id integer"])


def test_a_column_that_the_source_lacks_is_refused(incremental, make):
    make("CREATE TABLE t (id integer, upd timestamp)")
    with pytest.raises(Terminal, match=r"watermark\.column_unknown"):
        incremental.start([], columns=["id integer"])


# --- lag ----------------------------------------------------------------------------------------------------------


def test_rows_within_the_lag_are_loaded_once(incremental, table, rows):
    incremental.run([(1, at("10:00:00"))], lag="15m")
    assert incremental.run([(2, at("09:50:00")), (3, at("09:44:00"))], lag="15m") == (1, 1, 0)
    assert incremental.run([(1, at("10:00:00")), (2, at("09:50:00"))], lag="15m") == (0, 0, 2)
    assert incremental.watermark == "2026-01-01 10:00:00"


def test_a_row_that_was_deleted_from_the_table_does_not_come_back(incremental, table, make, rows):
    batch = [(1, at("10:00:00")), (2, at("09:50:00"))]
    incremental.run(batch, lag="15m")
    make("DELETE FROM t WHERE id = 2")
    assert incremental.run(batch, lag="15m") == (0, 0, 2)
    assert rows("SELECT id FROM t") == [(1,)]


def test_a_longer_lag_asks_the_table_for_what_was_not_remembered(incremental, table, rows):
    batch = [(1, at("10:00:00")), (2, at("09:50:00"))]
    incremental.run(batch)
    assert incremental.run([*batch, (3, at("09:55:00"))], lag="15m") == (1, 0, 2)
    assert incremental.run([*batch, (3, at("09:55:00"))], lag="15m") == (0, 0, 3)


def test_a_shorter_lag_forgets(incremental, table):
    batch = [(1, at("10:00:00")), (2, at("09:50:00"))]
    incremental.run(batch, lag="15m")
    assert incremental.run(batch) == (0, 1, 1)
    assert incremental.boundary_rows() == 1


@pytest.mark.parametrize(
    ("declared", "kind", "lag", "watermark", "inside", "outside"),
    [
        ("bigint", "bigint", 10, 100, 90, 89),
        ("integer", "integer", 10, -(2**31) + 3, -(2**31), None),
        ("numeric(12,2)", "decimal(12,2)", 0.5, Decimal("10.00"), Decimal("9.50"), Decimal("9.49")),
        ("date", "date", "2d", datetime.date(2026, 1, 10), datetime.date(2026, 1, 8), datetime.date(2026, 1, 7)),
        ("date", "date", "36h", datetime.date(2026, 1, 10), datetime.date(2026, 1, 8), datetime.date(2026, 1, 7)),
        (
            "timestamptz",
            "timestamptz",
            "1d",
            moment(1, UTC),
            moment(1, UTC) - datetime.timedelta(1),
            moment(0, UTC) - datetime.timedelta(1),
        ),
    ],
)
def test_a_lag_counts_in_the_type_of_the_watermark(incremental, make, declared, kind, lag, watermark, inside, outside):
    make(f"CREATE TABLE t (id integer, upd {declared} NOT NULL)")
    incremental.columns = ("id integer", f"upd {kind}")
    incremental.run([(0, watermark)], lag=lag)
    more = [(1, inside)] + ([(2, outside)] if outside is not None else [])
    assert incremental.run(more, lag=lag) == (1, len(more) - 1, 0)


@pytest.mark.parametrize(("declared", "lag"), [("timestamp", 5), ("bigint", "5m"), ("bigint", 0.5), ("text", 1)])
def test_a_lag_that_does_not_fit_the_watermark_is_refused(incremental, make, declared, lag):
    make(f"CREATE TABLE t (id integer, upd {declared})")
    with pytest.raises(Terminal, match=r"watermark\.lag_mismatch"):
        incremental.start([], lag=lag)


# --- columns that change between loads ----------------------------------------------------------------------------


def test_a_column_that_is_new_does_not_make_loaded_rows_new(incremental, table, make, rows):
    incremental.run(FIRST)
    make("ALTER TABLE t ADD COLUMN note text")
    now = [(*row, "note") for row in FIRST + LATE]
    columns = ("id integer", "upd timestamp", "note")
    assert incremental.run(now, columns=columns) == (2, 0, 2)
    assert incremental.run(now, columns=columns) == (0, 3, 1)


def test_hashes_follow_the_new_columns_once_no_old_one_is_left(incremental, table, make):
    incremental.run(FIRST)
    make("ALTER TABLE t ADD COLUMN note text")
    columns = ("id integer", "upd timestamp", "note")
    incremental.run([(4, at("10:00:01"), "a")], columns=columns)
    assert incremental.run([(4, at("10:00:01"), "a"), (4, at("10:00:01"), "b")], columns=columns) == (1, 0, 1)


def test_without_the_column_the_watermark_comes_from_the_table(incremental, make, rows):
    make("CREATE TABLE t (id integer, upd timestamp NOT NULL, note text)")
    incremental.run([(*row, "x") for row in FIRST], columns=("id integer", "upd timestamp", "note"))
    assert incremental.run(FIRST + LATE) == (2, 0, 2)
    assert rows("SELECT id FROM t ORDER BY id") == [(1,), (2,), (3,), (4,)]


def test_after_a_change_of_type_the_watermark_comes_from_the_table(incremental, make):
    make("CREATE TABLE t (id integer, upd timestamp NOT NULL, amount numeric(10,2))")
    columns = ("id integer", "upd timestamp", "amount decimal(10,4)")
    batch = [(*row, Decimal("1.5")) for row in FIRST]
    incremental.run(batch, columns=columns)
    make("ALTER TABLE t ALTER amount TYPE numeric(12,4)")
    assert incremental.run(batch, columns=columns) == (0, 0, 2)


# --- values that no watermark can follow
# -------------------------------------------------------------------------------


def test_the_column_of_the_watermark_takes_no_null(incremental, make):
    make("CREATE TABLE t (id integer, upd timestamp)")
    load, _ = incremental.start([])
    assert [c.nullable for c in load.columns] == [True, False]


# --- one transaction (B07) ----------------------------------------------------------------------------------------


def test_a_load_that_fails_moves_no_watermark(incremental, make, rows):
    make("CREATE TABLE t (id integer CHECK (id > 0), upd timestamp NOT NULL)")
    incremental.run(FIRST)
    with pytest.raises(Terminal):
        incremental.run([*LATE, (0, at("10:00:02"))])
    assert rows("SELECT count(*) FROM t") == [(2,)]
    assert (incremental.watermark, incremental.boundary_rows()) == ("2026-01-01 10:00:00", 2)
    assert incremental.run([*LATE, (5, at("10:00:02"))]) == (3, 0, 0)


def test_a_worker_that_was_shut_out_moves_no_watermark(incremental, table, conn):
    load, changes = incremental.start(FIRST, token=1)
    raise_fence(conn, TENANT, load.run.pipeline, "load", 2)
    with pytest.raises(LeaseLost):
        load.commit(**changes)
    assert incremental.watermark is None


def test_a_second_commit_of_the_run_moves_no_watermark(incremental, table, rows):
    load, changes = incremental.start(FIRST)
    assert load.commit(**changes) == load.commit(**changes)
    assert (rows("SELECT count(*) FROM t"), incremental.boundary_rows()) == ([(2,)], 2)


@pytest.mark.parametrize("change", ["set", "reset"])
def test_a_watermark_that_was_changed_meanwhile_stops_the_load(incremental, table, rows, change):
    incremental.run(FIRST)
    load, changes = incremental.start(LATE)
    incremental.set("2026-01-01T09:00:00") if change == "set" else incremental.reset()
    with pytest.raises(Transient, match=r"watermark\.moved"):
        load.commit(**changes)
    assert rows("SELECT count(*) FROM t") == [(2,)]


def test_a_watermark_that_was_set_before_the_first_load_ended_stops_it(incremental, table):
    load, changes = incremental.start(FIRST)
    incremental.set("2026-01-01T09:00:00")
    with pytest.raises(Transient, match=r"watermark\.moved"):
        load.commit(**changes)


def test_two_pipelines_into_one_table_have_watermarks_of_their_own(incremental, table):
    incremental.run(LATE)
    load, changes = incremental.start(FIRST, pipeline=f"other-{incremental.schema}")
    assert changes["rows_range"].stored is None
    load.commit(**changes)
    assert incremental.watermark == "2026-01-01 10:00:01"


# --- what people do -----------------------------------------------------------------------------------------------


def test_a_watermark_set_back_loads_what_the_table_lacks(incremental, table, make, rows):
    incremental.run([(0, at("09:00:00")), *FIRST, *LATE])
    make("DELETE FROM t WHERE id IN (1, 3)")
    incremental.set("2026-01-01 10:00:00")
    assert incremental.run([(0, at("09:00:00")), *FIRST, *LATE]) == (2, 1, 2)
    assert rows("SELECT id FROM t ORDER BY id") == [(0,), (1,), (2,), (3,), (4,)]
    assert incremental.run([*FIRST, *LATE]) == (0, 3, 1)


def test_a_watermark_set_back_is_not_passed_by_rows_that_only_the_table_holds(incremental, table):
    incremental.run([*FIRST, *LATE])
    incremental.set("2026-01-01 10:00:00")
    assert incremental.run(FIRST) == (0, 0, 2)
    assert incremental.watermark == "2026-01-01 10:00:00"
    assert incremental.run([*FIRST, *LATE]) == (0, 0, 4)
    assert incremental.watermark == "2026-01-01 10:00:01"


def test_a_watermark_set_back_over_too_many_rows_of_the_table_is_refused(incremental, table, rows, monkeypatch):
    incremental.run([*FIRST, *LATE])
    incremental.set("2026-01-01 10:00:00")
    monkeypatch.setattr(boundary_rows_module, "MOST_BOUNDARY_ROWS", 3)
    with pytest.raises(Terminal, match=r"watermark\.too_many_ties"):
        incremental.start(FIRST)


def test_a_watermark_set_forward_leaves_rows_behind(incremental, table):
    incremental.run(FIRST)
    incremental.set("2026-01-01 10:00:01")
    assert incremental.run(LATE) == (1, 1, 0)


def test_a_reset_goes_on_from_the_table(incremental, table, make):
    incremental.run([*FIRST, *LATE])
    make("DELETE FROM t WHERE id = 4")
    assert incremental.reset()
    assert incremental.watermark is None
    assert incremental.run([*FIRST, *LATE]) == (1, 0, 3)


def test_a_reset_forgets_the_hashes(incremental, table, conn):
    incremental.run(FIRST)
    stored = find_watermark(conn, incremental.key)
    incremental.reset()
    assert count_boundary_rows(conn, stored) == 0
    assert not incremental.reset()


def test_every_change_is_kept(incremental, table, conn):
    incremental.run(FIRST)
    incremental.run(LATE)
    incremental.set("2026-01-01T09:30:00.5", by="bob@example.com", reason="loaded again after a repair")
    incremental.reset()
    assert incremental.history() == [
        ("run", None, "2026-01-01 10:00:00"),
        ("run", "2026-01-01 10:00:00", "2026-01-01 10:00:01"),
        ("set", "2026-01-01 10:00:01", "2026-01-01 09:30:00.5"),
        ("reset", "2026-01-01 09:30:00.5", None),
    ]
    _, change, *runs = list_changes(conn, incremental.key)
    assert (change.by, change.reason, change.run_id) == ("bob@example.com", "loaded again after a repair", None)
    assert all(run.run_id for run in runs)


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        ("timestamp", "now"),
        ("timestamp", "tomorrow"),
        ("timestamp", "infinity"),
        ("timestamp", "2026-02-30"),
        ("timestamp", ""),
        ("timestamptz", "2026-01-01 10:00 Europe/Berlin"),
        ("date", "01/02/2026"),
        ("bigint", "1e3"),
        ("bigint", "9223372036854775808"),
        ("integer", "1.0"),
        ("smallint", "40000"),
        ("numeric", "NaN"),
        ("numeric", "x"),
        ("numeric(5,2)", "1.234"),
        ("varchar(2)", "abc"),
        ("text", "a\0b"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused(incremental, make, declared, value):
    make(f"CREATE TABLE t (id integer, upd {declared})")
    with pytest.raises(Terminal, match=r"watermark\.value_malformed"):
        incremental.set(value)
    assert incremental.watermark is None


@pytest.mark.parametrize(
    ("declared", "value", "stored"),
    [
        ("timestamptz", "2026-01-01T12:00:00.123456+02:00", "2026-01-01 10:00:00.123456+00"),
        ("timestamp", " 2026-01-01 10:00 ", "2026-01-01 10:00:00"),
        ("bigint", "9007199254740993", "9007199254740993"),
        ("numeric", "1.50", "1.50"),
        ("date", "2026-01-31", "2026-01-31"),
        ("text", " a", " a"),
    ],
)
def test_a_value_is_kept_as_loads_keep_it(incremental, make, declared, value, stored):
    make(f"CREATE TABLE t (id integer, upd {declared})")
    incremental.set(value)
    assert incremental.watermark == stored


# --- all of it, against a model -----------------------------------------------------------------------------------

LAGS = st.sampled_from([None, 1, 3, 100])
BATCHES = st.lists(st.tuples(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), max_size=8), LAGS), max_size=6)


@settings(max_examples=examples(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=BATCHES)
def test_every_row_at_or_above_the_bound_is_loaded_exactly_once(incremental, make, rows, batches):
    """The model: each row is loaded as often as the fullest batch contained it, except for batches below the
    watermark."""
    make("DROP TABLE IF EXISTS t; CREATE TABLE t (id integer, upd integer NOT NULL)")
    incremental.columns = ("id integer", "upd integer")
    incremental.reset()
    loaded, watermark = Counter(), None
    for batch, lag in batches:
        bound = watermark - (lag or 0) if watermark is not None else None
        ahead = Counter(row for row in batch if bound is None or row[1] >= bound)
        new = ahead - loaded
        below = len(batch) - ahead.total()
        assert incremental.run(batch, lag=lag) == (new.total(), below, ahead.total() - new.total())
        loaded += new
        watermark = max([row[1] for row in batch] + ([watermark] if watermark is not None else []), default=None)
        assert Counter(rows("SELECT id, upd FROM t")) == loaded
        assert incremental.watermark == (None if watermark is None else str(watermark))


# --- a table that keeps other values than it is given -----------------------------------------------------------------


@pytest.fixture
def changing(make):
    """`changing("id integer PRIMARY KEY, …")` makes a table whose trigger writes `note` in upper case."""

    def run(columns, change="NEW.note := upper(NEW.note)"):
        make(f"CREATE TABLE t ({columns})")
        make(f"CREATE FUNCTION loud() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN {change}; RETURN NEW; END$$")
        make("CREATE TRIGGER loud BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION loud()")

    return run


NOTED = ("id integer", "upd timestamp", "note")
NOTES = [(1, at("10:00:00"), "a"), (2, at("10:00:01"), "b")]


def skipped_of(incremental, rows):
    load, changes = incremental.start(rows)
    return load.commit(**changes)


def test_a_watermark_set_back_loads_nothing_twice_where_a_trigger_changes_values_and_a_key_identifies_rows(
    incremental, changing, rows
):
    incremental.columns = NOTED
    changing("id integer PRIMARY KEY, upd timestamp NOT NULL, note text")
    incremental.run(NOTES)
    incremental.set("2026-01-01 09:00:00")
    counts = skipped_of(incremental, [*NOTES, (3, at("10:00:01"), "c")])
    assert (counts.loaded, counts.read_again, counts.differing, counts.doubtful) == (1, 2, 2, 0)
    assert rows("SELECT id, note FROM t ORDER BY id") == [(1, "A"), (2, "B"), (3, "C")]
    assert incremental.run([*NOTES, (3, at("10:00:01"), "c")]) == (0, 1, 2)


def test_a_trigger_that_dates_rows_itself_is_no_hindrance(incremental, changing, rows):
    incremental.columns = NOTED
    changing("id integer PRIMARY KEY, upd timestamp NOT NULL, note text", "NEW.upd := '2026-02-01'")
    incremental.run(NOTES)
    incremental.set("2026-01-01 09:00:00")
    assert incremental.run(NOTES) == (0, 0, 2)


def test_a_row_newer_than_the_table_s_of_its_key_is_another_one(incremental, changing):
    incremental.columns = NOTED
    changing("id integer PRIMARY KEY, upd timestamp NOT NULL, note text")
    incremental.run(NOTES)
    incremental.set("2026-01-01 09:00:00")
    with pytest.raises(Terminal, match=r"target\.constraint"):
        incremental.run([(1, at("11:00:00"), "new")])


def test_a_key_that_the_source_repeats_is_known_once(incremental, changing):
    incremental.columns = NOTED
    changing("id integer PRIMARY KEY, upd timestamp NOT NULL, note text")
    incremental.run(NOTES)
    incremental.set("2026-01-01 09:00:00")
    with pytest.raises(Terminal, match=r"target\.constraint"):
        incremental.run([*NOTES, NOTES[0]])


def test_a_longer_lag_asks_the_table_by_key_and_the_hashes_for_the_rest(incremental, changing, rows):
    incremental.columns = NOTED
    changing("id integer PRIMARY KEY, upd timestamp NOT NULL, note text")
    incremental.run(NOTES)
    assert incremental.run([*NOTES, (3, at("09:59:00"), "c")], lag="15m") == (1, 0, 2)
    assert incremental.run([*NOTES, (3, at("09:59:00"), "c")], lag="15m") == (0, 0, 3)


def test_without_a_key_rows_that_a_trigger_may_have_changed_are_counted(incremental, changing, rows):
    incremental.columns = NOTED
    changing("id integer, upd timestamp NOT NULL, note text")
    incremental.run([*NOTES, (4, at("10:00:00"), "LOUD")])
    incremental.set("2026-01-01 09:00:00")
    counts = skipped_of(incremental, [*NOTES, (4, at("10:00:00"), "LOUD"), (5, at("11:00:00"), "later")])
    assert (counts.loaded, counts.read_again, counts.doubtful) == (3, 1, 2)


def test_without_a_trigger_nothing_is_doubtful(incremental, make):
    make("CREATE TABLE t (id integer, upd timestamp NOT NULL, note text)")
    incremental.columns = NOTED
    incremental.run(NOTES)
    incremental.set("2026-01-01 09:00:00")
    counts = skipped_of(incremental, [*NOTES, (3, at("10:00:01"), "c")])
    assert (counts.loaded, counts.read_again, counts.doubtful) == (1, 2, 0)
