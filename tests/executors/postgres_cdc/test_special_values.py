"""Values, keys and statements that mirrors of other products get wrong. Each case ends with equal tables."""

from __future__ import annotations

import pytest

from tests.executors.postgres_cdc.mirror import Mirror

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

# 3,000 characters that do not compress, so that they are stored out of line, and the log lacks them if unchanged.
LARGE = "(select string_agg(md5(random()::text || i::text), '') from generate_series(1, 100) i)"

TABLE = """
create type mood as enum ('sad', 'ok');
create domain short as varchar(5);
create table s (
    id int primary key, small text, big text, doc jsonb, n numeric, d numeric(12,2), f float8, day date,
    at timestamp, tz timestamptz, clock time, raw bytea, list text[], feels mood, tag short, span interval,
    padded char(6), yes boolean, uid uuid, net inet, ranged int4range
)"""

ROWS = f"""
insert into s
select i, 'small ' || i, {LARGE}, jsonb_build_object('a', i, 'text', {LARGE}), i / 3.0, i, i / 7.0, '2024-02-29',
    '2024-02-29 12:00:00.123456', '2024-02-29 12:00:00.5+09', '23:59:59.999999', '\\x00ff', array['a,"b', null, ''],
    'ok', 'tag', '1 year 2 days 03:04:05.6', 'pad', i % 2 = 0, gen_random_uuid(), '10.0.0.1/8', '[1,5)'
from generate_series(1, 40) i"""


def test_every_value_arrives_as_it_is(mirror: Mirror) -> None:
    mirror.at_source(TABLE, ROWS)
    # The target has no type mood and no domain short.
    mirror.sql(
        TABLE.partition(";")[2]
        .partition(";")[2]
        .replace("table s", "table t")
        .replace("mood", "text")
        .replace("tag short", "tag text")
    )
    assert mirror.follow().rows_inserted == 40
    assert mirror.difference() == []
    mirror.at_source(
        # Unchanged large values: alone, twice in one window, after a change of the value, and with others.
        "update s set small = 'b' where id <= 10",
        "update s set small = 'c' where id <= 5",
        f"update s set big = {LARGE} where id = 6",
        "update s set small = 'd' where id = 6",
        f"update s set doc = jsonb_build_object('new', {LARGE}) where id = 7",
        "update s set big = null where id = 8",
        # Keys that change, with unchanged large values: to a new key, along a chain, and crosswise.
        "update s set id = 101 where id = 9",
        "update s set id = 102 where id = 10; update s set id = 103 where id = 102",
        "update s set id = 0 where id = 11; update s set id = 11 where id = 12; update s set id = 12 where id = 0",
        # A key that is deleted and inserted, and one that is inserted and deleted.
        "begin; delete from s where id = 13; insert into s (id, small) values (13, 'again'); commit",
        "begin; insert into s (id) values (200); delete from s where id = 200; commit",
        # Statements that are rolled back.
        "begin; delete from s; rollback",
        "begin; update s set small = 'kept' where id = 14; savepoint a; delete from s where id = 14; "
        "rollback to a; update s set f = 1.5 where id = 14; commit",
        # Values that other systems cannot represent.
        "update s set day = 'infinity', at = '-infinity', tz = 'infinity' where id = 15",
        "update s set n = 'NaN', d = 'NaN', f = 'NaN' where id = 15",
        "update s set day = '0044-03-15 BC', at = '0044-03-15 12:00 BC', tz = '0044-03-15 12:00+00 BC' where id = 16",
        "update s set day = '12345-01-01', f = '-Infinity', clock = '24:00', n = '1e400' where id = 17",
        "update s set small = '', list = '{}', raw = '', padded = '', doc = 'null' where id = 18",
        """update s set small = E'a"b,c\\nd\\\\e\\t', tag = E'\\n' where id = 19""",
        "update s set small = repeat('ü', 2000), padded = 'ü' where id = 20",
        "insert into s (id) values (300)",
    )
    counts = mirror.follow()
    assert mirror.difference() == []
    assert any("CASE WHEN" in text for text in mirror.memory.commits["load"].record.statements), "no value was missing"
    taken = (counts.rows_inserted, counts.rows_updated, counts.rows_unchanged, counts.rows_deleted)
    assert counts.rows_read == sum(map(int, taken)) + counts.rows_replaced + counts.rows_rejected
    mirror.at_source(
        "begin; insert into s (id) values (400); truncate s; insert into s (id, small) values (1, 'x'); commit"
    )
    assert mirror.follow().rows_inserted == 1
    assert mirror.difference() == []


def test_a_table_with_a_full_identity_and_one_with_another_key(mirror: Mirror) -> None:
    mirror.at_source(
        "create table s (id int not null, part text not null, big text, note text)",
        "create unique index by_both on s (part, id)",
        "alter table s replica identity using index by_both",
        f"insert into s select i, 'p' || i % 3, {LARGE}, 'n' from generate_series(1, 20) i",
    )
    mirror.follow()
    mirror.at_source(
        "update s set note = 'm' where id <= 3", "delete from s where id > 15", "alter table s replica identity full"
    )
    document = mirror.pipeline(upsertKey=["part", "id"])
    mirror.follow(document)
    mirror.at_source(
        "update s set note = 'k' where id = 4", "update s set part = 'moved' where id = 5", "delete from s where id = 6"
    )
    mirror.follow(document)
    assert mirror.difference() == []


def test_a_partitioned_table_is_followed_as_one(mirror: Mirror) -> None:
    mirror.at_source(
        "create table s (id int, at date, note text, primary key (id, at)) partition by range (at)",
        "create table s1 partition of s for values from ('2024-01-01') to ('2025-01-01')",
        "create table s2 partition of s for values from ('2025-01-01') to ('2026-01-01')",
        "insert into s select i, '2024-06-01'::date + i, 'n' from generate_series(1, 300) i",
    )
    assert mirror.follow().rows_inserted == 300
    mirror.at_source(
        "update s set note = 'm' where id <= 10",
        "update s set at = '2025-07-01' where id = 1",
        "delete from s where id = 2",
        "create table s3 partition of s for values from ('2026-01-01') to ('2027-01-01')",
        "insert into s values (1, '2026-05-05', 'third')",
    )
    mirror.follow()
    assert mirror.difference() == []


def test_generated_columns_and_columns_of_other_tables(mirror: Mirror) -> None:
    mirror.at_source(
        "create table s (id int primary key, price int, doubled int generated always as (price * 2) stored)",
        "create table other (id int primary key)",
        "insert into s (id, price) values (1, 10), (2, 20)",
    )
    first = mirror.run_once()
    mirror.at_source(
        "begin; insert into other values (1); update s set price = 11 where id = 1; truncate other; commit"
    )
    mirror.follow()
    with mirror.session() as connection:
        publishes = connection.info.server_version >= 180000
    assert mirror.difference("*" if publishes else "id, price") == []
    assert ("cdc.columns_left_out" in [warning.code for warning in first.warnings]) is not publishes
