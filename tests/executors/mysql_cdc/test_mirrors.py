"""Whole runs that follow a table of MariaDB: the target always equals the source."""

from __future__ import annotations

import pytest

from tests.executors.mysql_cdc.log_of_table import TableLog
from tests.executors.mysql_cdc.mirror import Mirror

pytestmark = [pytest.mark.spark, pytest.mark.postgres]


def test_a_snapshot_and_the_changes_after_it_give_the_table_of_the_source(mirror: Mirror, log: TableLog) -> None:
    log.run(
        "CREATE TABLE s (id varchar(20) primary key, price decimal(20,2), at timestamp null, raw varbinary(9))",
        "SET time_zone = '+02:00'",
        "INSERT INTO s VALUES ('a', 1.50, '2024-01-01 12:00', x'00FF'), ('b', NULL, NULL, NULL), ('c', 3, NULL, '')",
    )
    first = mirror.follow()
    assert (first.rows_inserted, first.rows_deleted) == (3, 0)
    assert mirror.run_once().nothing_new
    log.run(
        "INSERT INTO s (id, price) VALUES ('d', 4), ('', 5), ('B ö', 6)",
        "UPDATE s SET price = price + 1 WHERE id = 'a'", "UPDATE s SET price = 99 WHERE id = 'd'",
        "UPDATE s SET id = 'C' WHERE id = 'c'", "DELETE FROM s WHERE id = 'b'",
        "ALTER TABLE s ADD COLUMN note text", "UPDATE s SET note = 'n' WHERE id = ''",
    )  # fmt: skip
    evolving = mirror.pipeline(node={"schemaPolicy": "evolve"})
    then = mirror.follow(evolving)
    assert (then.rows_inserted, then.rows_updated, then.rows_deleted, then.rows_replaced) == (4, 1, 2, 1)
    assert mirror.follow(evolving).rows_updated == 1
    assert mirror.run_once(evolving).nothing_new
    assert mirror.difference("id, price, note") == []
    log.run("TRUNCATE s", "INSERT INTO s (id) VALUES ('z')")
    mirror.follow(evolving)
    assert mirror.rows("id") == [("z",)]


@pytest.mark.slow
def test_keys_of_bytes_and_times_are_deleted(mirror: Mirror, log: TableLog) -> None:
    log.run(
        "CREATE TABLE s (a binary(3), b timestamp(2), c bit(4), n int, primary key (a, b, c))",
        "SET time_zone = '+00:00'",
        "INSERT INTO s VALUES (x'0100', '2024-01-01 00:00:00.25', 5, 1), (x'02', '2024-01-01', 6, 2)",
    )  # fmt: skip
    mirror.follow()
    log.run("DELETE FROM s WHERE n = 1", "UPDATE s SET n = 7 WHERE n = 2")
    counts = mirror.follow()
    assert (counts.rows_deleted, counts.rows_updated) == (1, 1)
    assert mirror.rows("n") == [(7,)]


@pytest.mark.slow
def test_a_preview_reads_the_rows_and_needs_no_log(mirror: Mirror, log: TableLog) -> None:
    log.run("CREATE TABLE s (id int primary key)", "INSERT INTO s VALUES (1), (2)")
    mirror.source = log.reader()
    report = mirror.preview(mirror.pipeline())
    assert [(effect.inserted, effect.deleted) for effect in report.effects] == [(2, 0)]
