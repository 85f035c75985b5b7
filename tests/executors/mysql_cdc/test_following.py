"""Windows of the log make the table what it is at the source."""

from __future__ import annotations

import random

import pytest

from executors.errors import Failure
from executors.mysql_cdc import window
from tests.executors.mysql_cdc.log_of_table import TableLog


def begin(log: TableLog, columns: str = "id int primary key, n int, name varchar(40)") -> None:
    log.run(f"CREATE TABLE t ({columns})", "INSERT INTO t (id, n) VALUES (1, 1), (2, 2), (3, 3)")
    log.read()
    assert len(log.rows) == 3


def test_changes_after_the_snapshot(log: TableLog) -> None:
    begin(log)
    assert log.read().is_nothing
    log.run(
        "INSERT INTO t VALUES (4, 4, 'new')", "UPDATE t SET n = 20 WHERE id = 2", "DELETE FROM t WHERE id = 3",
        "UPDATE t SET id = 10 WHERE id = 1", "REPLACE INTO t VALUES (4, 5, 'again')",
        "INSERT INTO t VALUES (2, 9, 'x') ON DUPLICATE KEY UPDATE n = 21",
    )  # fmt: skip
    changes = log.read().changes
    assert changes is not None
    assert log.difference() == []
    assert log.read().is_nothing


def test_rows_that_change_while_they_are_read_are_neither_lost_nor_repeated(log: TableLog) -> None:
    begin(log)
    log.state = None
    log.read_while(lambda: log.run("INSERT INTO t (id) VALUES (9)", "DELETE FROM t WHERE id = 1"))
    assert len(log.rows) == 3
    log.read()
    assert log.difference() == []


def test_only_committed_changes_count(log: TableLog) -> None:
    begin(log)
    log.run("CREATE TABLE other (a int) ENGINE = MyISAM")
    log.run("BEGIN", "DELETE FROM t", "ROLLBACK")
    log.run("BEGIN", "INSERT INTO t (id) VALUES (4)", "SAVEPOINT a", "DELETE FROM t", "ROLLBACK TO a", "COMMIT")
    # With a table that cannot be rolled back, the log contains the changes and their rollback.
    log.run(
        "BEGIN", "INSERT INTO t (id) VALUES (5)", "SAVEPOINT `my ``point`", "DELETE FROM t WHERE id = 1",
        "INSERT INTO other VALUES (1)", "ROLLBACK TO `my ``point`", "INSERT INTO t (id) VALUES (6)", "COMMIT",
    )  # fmt: skip
    log.run("BEGIN", "DELETE FROM t", "INSERT INTO other VALUES (1)", "ROLLBACK")
    log.read()
    assert log.difference() == []
    assert len(log.rows) == 6


def test_xa_transactions_count_when_they_are_committed(log: TableLog) -> None:
    begin(log)
    for xid, act in (("a", "INSERT INTO t (id) VALUES (4)"), ("b", "DELETE FROM t WHERE id = 2")):
        log.run(f"XA START '{xid}','bq',7", act, f"XA END '{xid}','bq',7", f"XA PREPARE '{xid}','bq',7")
    log.run("XA START 'c'", "INSERT INTO t (id) VALUES (5)", "XA END 'c'", "XA COMMIT 'c' ONE PHASE")
    log.read()
    assert sorted(log.rows) == [("1",), ("2",), ("3",), ("5",)]
    log.run("UPDATE t SET n = 7 WHERE id = 3", "XA COMMIT 'a','bq',7", "XA ROLLBACK 'b','bq',7")
    log.read()
    assert log.difference() == []
    assert log.read().is_nothing


def test_an_open_xa_transaction_delays_the_first_load(log: TableLog) -> None:
    log.run("CREATE TABLE t (id int primary key)")
    log.run("XA START 'o'", "INSERT INTO t VALUES (1)", "XA END 'o'", "XA PREPARE 'o'")
    with pytest.raises(Failure) as refused:
        log.read()
    assert refused.value.code == "cdc.xa_open"
    log.run("XA COMMIT 'o'")
    log.read()
    assert log.difference() == []


def test_truncate_removes_the_rows_before_it(log: TableLog) -> None:
    begin(log)
    log.run("INSERT INTO t (id) VALUES (4)", "TRUNCATE t", "INSERT INTO t (id) VALUES (5)")
    log.run(f"/* why */ truncate table /*!40000 */ `{log.database}`.`t`; -- all", "INSERT INTO t (id) VALUES (6)")
    reading = log.read()
    assert reading.changes is not None
    assert reading.changes.truncates
    assert log.difference() == []


def test_other_files_and_a_restarted_server_are_followed(log: TableLog) -> None:
    begin(log)
    log.run("INSERT INTO t (id) VALUES (4)", "FLUSH BINARY LOGS", "INSERT INTO t (id) VALUES (5)", "FLUSH BINARY LOGS")
    log.catch_up()
    assert log.difference() == []
    log.run("DELETE FROM t WHERE id = 4")
    log.server.kill()
    log.server.start()
    log.run("INSERT INTO t (id) VALUES (7)")
    log.catch_up()
    assert log.difference() == []


def test_compressed_events_and_logs_without_checksums(log: TableLog) -> None:
    begin(log)
    log.run("SET GLOBAL log_bin_compress = ON, GLOBAL log_bin_compress_min_len = 10")
    try:
        log.run("UPDATE t SET name = REPEAT('a', 30)", "INSERT INTO t VALUES (5, 5, REPEAT('b', 40))")
        log.run(
            "DELETE FROM t WHERE id = 1", "ALTER TABLE t ADD COLUMN other_name varchar(20)", "UPDATE t SET n = n + 1"
        )
        log.catch_up()
        assert log.difference() == []
        log.run("SET GLOBAL binlog_checksum = NONE", "SET GLOBAL log_bin_compress = OFF")
        log.run("DELETE FROM t WHERE id = 2", "INSERT INTO t (id) VALUES (6)")
        log.catch_up()
        assert log.difference() == []
    finally:
        log.run("SET GLOBAL binlog_checksum = CRC32", "SET GLOBAL log_bin_compress = OFF")
    log.run("INSERT INTO t (id) VALUES (8)")
    log.catch_up()
    assert log.difference() == []


def test_a_window_ends_after_enough_changes(log: TableLog, monkeypatch: pytest.MonkeyPatch) -> None:
    begin(log)
    log.run(*(f"INSERT INTO t (id) VALUES ({i})" for i in range(10, 16)))
    monkeypatch.setattr(window.WindowReader, "_is_full", lambda self: self._changes.count >= 2)
    counts = []
    while not (reading := log.read()).is_nothing:
        counts.append(reading.records)
    assert counts == [2, 2, 2]
    assert log.difference() == []


def test_random_transactions(log: TableLog) -> None:
    chosen = random.Random(5)
    begin(log, "id varchar(9) primary key, n int, name varchar(40)")
    for _ in range(12):
        statements = ["BEGIN"]
        for _ in range(chosen.randrange(1, 12)):
            a, b = (chosen.randrange(1, 9) for _ in range(2))
            statements.append(
                chosen.choice(
                    [
                        f"REPLACE INTO t VALUES ('{a}', {b}, 'x')",
                        f"UPDATE IGNORE t SET id = 'a{b}' WHERE id = '{a}'",
                        f"UPDATE t SET n = n + 1 WHERE id LIKE '%{a}'",
                        f"DELETE FROM t WHERE id = 'a{a}'",
                        f"INSERT IGNORE INTO t VALUES ('{a}', {b}, NULL)",
                        "SAVEPOINT s",
                    ]
                )
            )
        log.run(*statements, chosen.choice(["COMMIT", "COMMIT", "ROLLBACK"]))
        log.catch_up()
        assert log.difference() == []
