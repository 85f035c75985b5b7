"""What cannot be followed is refused before anything changes, with what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from executors.errors import Failure, Terminal
from executors.mysql_cdc.events import QUERY, Event, Query, parse_query
from executors.mysql_cdc.statements import Effect, Statements
from executors.mysql_cdc.tables import require_server
from tests.executors.mysql_cdc.conftest import LOGGED
from tests.executors.mysql_cdc.log_of_table import FOLLOWER, TableLog
from tests.executors.mysql_cdc.test_following import begin
from tests.mariadb import running_mariadb


def refused(log: TableLog) -> Failure:
    state, rows = log.state, dict(log.rows)
    with pytest.raises(Failure) as caught:
        log.read()
    assert (log.state, log.rows) == (state, rows)
    return caught.value


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("CREATE TABLE t (id int)", "cdc.key_required"),
        ("CREATE TABLE t (id int primary key) ENGINE = MyISAM", "cdc.table_unusable"),
        ("CREATE TABLE t (id int primary key) WITH SYSTEM VERSIONING", "cdc.table_unusable"),
        ("CREATE VIEW t AS SELECT 1 AS id", "cdc.table_unusable"),
        ("SELECT 1", "source.table_unknown"),
        ("CREATE TABLE t (id int primary key, p point)", "source.type_unsupported"),
        ("CREATE TABLE t (id int primary key, v varchar(99) COMPRESSED)", "source.type_unsupported"),
        (
            "CREATE TABLE p (id int primary key); CREATE TABLE t (id int primary key,"
            " p int REFERENCES p (id) ON DELETE CASCADE)",
            "cdc.changes_unlogged",
        ),
    ],
)
def test_tables(log: TableLog, statement: str, code: str) -> None:
    log.run(statement)
    assert refused(log).code == code


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [("binlog_format", "MIXED", "cdc.binlog_settings"), ("binlog_row_image", "NOBLOB", "cdc.binlog_settings")],
)
def test_settings_of_the_server(log: TableLog, name: str, value: str, code: str) -> None:
    log.run("CREATE TABLE t (id int primary key)", f"SET @was = @@GLOBAL.{name}, GLOBAL {name} = {value}")
    try:
        failure = refused(log)
    finally:
        log.run(f"SET GLOBAL {name} = {'ROW' if name == 'binlog_format' else 'FULL'}")
    assert failure.code == code
    assert name in str(failure.hint)


@pytest.mark.parametrize("privilege", ["REPLICATION SLAVE", "BINLOG MONITOR"])
def test_missing_privileges(log: TableLog, privilege: str) -> None:
    log.run("CREATE TABLE t (id int primary key)", f"REVOKE {privilege} ON *.* FROM follower@'127.0.0.1'")
    try:
        failure = refused(log)
    finally:
        log.run(*FOLLOWER[1:])
    assert failure.code == "cdc.not_allowed"
    assert f"GRANT {privilege}" in str(failure.hint)


class Answers:
    """A server with a row of settings; see `tables._SETTINGS`."""

    def __init__(self, version: str, *settings: bytes) -> None:
        self.server_version, self._settings = version, settings

    def rows(self, statement: str) -> list[tuple[bytes, ...]]:
        return [self._settings] if "@@log_bin" in statement else []


def test_a_server_whose_log_is_not_verified() -> None:
    for version in ("MySQL 8.4.3", "MariaDB 10.3.39"):
        with pytest.raises(Terminal) as caught:
            require_server(Answers(version), "u")  # type: ignore[arg-type]
        assert caught.value.code == "cdc.server_unsupported"


@pytest.mark.parametrize(
    ("relays", "replicas", "is_good"), [(b"0", b"1", False), (b"1", b"1", True), (b"0", b"0", True)]
)
def test_a_replica_logs_what_it_replicates(relays: bytes, replicas: bytes, is_good: bool) -> None:
    server: Any = Answers("MariaDB 10.11.19", b"1", b"ROW", b"FULL", b"7", b"0", relays, replicas)
    if is_good:
        assert require_server(server, "u").id == 7
        return
    with pytest.raises(Terminal, match="replica") as caught:
        require_server(server, "u")
    assert "log_slave_updates=ON" in str(caught.value.hint)


UNLOGGED = ("SET sql_log_bin = 0", "ALTER TABLE t ADD COLUMN c int", "SET sql_log_bin = 1")


@pytest.mark.parametrize(
    ("statements", "code"),
    [
        (["ALTER TABLE t ADD COLUMN c int DEFAULT 5"], "cdc.column_filled"),
        (["ALTER TABLE t ADD (a int, b int NOT NULL)"], "cdc.column_filled"),
        (["ALTER TABLE t DROP n", "ALTER TABLE t ADD N int"], "cdc.column_replaced"),
        (["ALTER TABLE t DROP COLUMN IF EXISTS `n`, ADD n int"], "cdc.column_replaced"),
        (["ALTER TABLE t CHANGE n m int"], "cdc.columns_rewritten"),
        (["ALTER TABLE t MODIFY n bigint, ADD COLUMN c int"], "cdc.columns_rewritten"),
        (["ALTER TABLE t RENAME COLUMN n TO m"], "cdc.columns_rewritten"),
        (["RENAME TABLE t TO old, old TO t"], "cdc.source_changed"),
        (["DROP TABLE t", "CREATE TABLE t (id int primary key, n int, name varchar(40))"], "cdc.source_changed"),
        (["CREATE OR REPLACE TABLE t (id int primary key, n int, name varchar(40))"], "cdc.source_changed"),
        (["SET binlog_format = STATEMENT", "UPDATE t SET n = 5"], "cdc.statement_logged"),
        (["SET binlog_row_image = MINIMAL", "UPDATE t SET n = 5"], "cdc.rows_incomplete"),
        ([*UNLOGGED, "UPDATE t SET n = 5"], "cdc.columns_unknown"),
        ([*UNLOGGED, "CREATE TABLE o (i int)"], "cdc.columns_unknown"),
        (["ALTER TABLE t ADD COLUMN c int", "UPDATE t SET n = 5", "ALTER TABLE t DROP COLUMN c"],
         "cdc.columns_unknown"),
        (["CREATE TABLE p (id int primary key)",
          "ALTER TABLE t ADD FOREIGN KEY (n) REFERENCES p (id) ON DELETE SET NULL",
          "ALTER TABLE t DROP FOREIGN KEY t_ibfk_1"], "cdc.changes_unlogged"),
    ],
)  # fmt: skip
def test_what_the_log_does_not_say(log: TableLog, statements: Sequence[str], code: str) -> None:
    begin(log)
    log.run("SET foreign_key_checks = 0", *statements)
    assert refused(log).code == code


def test_another_server_and_a_log_that_was_removed(log: TableLog) -> None:
    begin(log)
    before = log.state
    with running_mariadb(*LOGGED) as other:
        other.run(*FOLLOWER, "CREATE DATABASE " + log.database, database="mysql")
        elsewhere = replace(log, server=other)
        elsewhere.run("CREATE TABLE t (id int primary key, n int, name varchar(40))")
        assert refused(elsewhere).code == "cdc.source_changed"
        # Also when its log is longer.
        elsewhere.run(*(f"INSERT INTO t (id) VALUES ({i})" for i in range(2000)))
        assert refused(elsewhere).code == "cdc.source_changed"
    log.run("INSERT INTO t (id) VALUES (5)", "FLUSH BINARY LOGS", "FLUSH BINARY LOGS")
    log.forget_files()
    assert log.state == before
    assert refused(log).code == "cdc.log_missing"
    log.state = None
    log.read()
    assert log.difference() == []


# --- columns that change ------------------------------------------------------------------------------------------


def test_a_column_that_comes_back_after_a_window_without_it_is_refused(log: TableLog) -> None:
    begin(log)
    log.run("ALTER TABLE t DROP n", "INSERT INTO t (id) VALUES (4)")
    log.catch_up()
    log.run("ALTER TABLE t ADD n int", "INSERT INTO t (id) VALUES (5)")
    assert refused(log).code == "cdc.column_replaced"


def test_names_that_are_not_ascii_are_followed(log: TableLog) -> None:
    log.table = "größe 日本"
    log.run(f"CREATE TABLE `{log.table}` (`ключ` int primary key, `à` int)")
    log.read()
    log.run(
        f"INSERT INTO `{log.table}` VALUES (1, 1), (2, 2)", f"ALTER TABLE `{log.table}` ADD `ö` int, DROP `à`",
        f"UPDATE `{log.table}` SET `ö` = 5",
    )  # fmt: skip
    log.catch_up()
    assert (len(log.rows), log.difference()) == (2, [])
    log.run(f"TRUNCATE `{log.table}`", f"INSERT INTO `{log.table}` VALUES (3, 3)")
    log.catch_up()
    assert (len(log.rows), log.difference()) == (1, [])
    log.run(f"ALTER TABLE `{log.table}` ADD `à` int")
    assert refused(log).code == "cdc.column_replaced"


def test_columns_that_are_added_and_dropped_divide_windows(log: TableLog) -> None:
    begin(log)
    log.run(
        "UPDATE t SET n = 9 WHERE id = 1", "ALTER TABLE t ADD COLUMN c int DEFAULT NULL AFTER id, ADD INDEX (n)",
        "UPDATE t SET c = 7 WHERE id = 2",
    )  # fmt: skip
    fields = []
    while not (reading := log.read()).is_nothing:
        fields.append([field.name for field in reading.fields])
    assert fields == [["id", "n", "name"], ["id", "c", "n", "name"]]
    assert log.rows["2",]["c"] == 7
    log.run("ALTER TABLE t DROP COLUMN name", "INSERT INTO t (id) VALUES (7)", "ANALYZE TABLE t")
    assert [field.name for field in log.read().fields] == ["id", "c", "n"]
    assert log.read().is_nothing


STATEMENTS = Statements("shop", "orders", folds=False)


@pytest.mark.parametrize(
    "text",
    [
        "ALTER TABLE orders_old CHANGE a b int",
        "alter table `other`.orders change a b int",
        "ALTER TABLE orders ADD INDEX i (a), ALGORITHM=INPLACE, LOCK=NONE",
        "ALTER TABLE orders ADD CONSTRAINT c CHECK (a > 1)",
        "ALTER TABLE orders ADD FOREIGN KEY (a) REFERENCES p (id) ON DELETE RESTRICT",
        "ALTER TABLE orders ADD PARTITION (PARTITION p VALUES LESS THAN (5))",
        "/*!40000 ALTER TABLE `orders` DISABLE KEYS */",
        "CREATE TABLE other LIKE orders",
        "CREATE TABLE IF NOT EXISTS orders (id int)",
        "CREATE TABLE c (o int, FOREIGN KEY (o) REFERENCES orders (id) ON DELETE CASCADE)",
        "CREATE TRIGGER x BEFORE INSERT ON orders FOR EACH ROW DELETE FROM y",
        "CREATE OR REPLACE ALGORITHM=UNDEFINED DEFINER=`root`@`localhost` SQL SECURITY DEFINER VIEW `v` AS"
        " select * from orders",
        "DROP TEMPORARY TABLE IF EXISTS `orders` /* generated by server */",
        "DROP TABLE IF EXISTS `other`.`orders`, orders2",
        "RENAME TABLE other.orders TO other.o2",
        "TRUNCATE TABLE other.orders",
        "TRUNCATE orders2",
        "DROP DATABASE other",
        "CREATE DATABASE IF NOT EXISTS shop",
        "DELETE FROM `shop`.`memory_table`",
        "INSERT INTO mysql.rds_heartbeat2(id, value) values (1,1) ON DUPLICATE KEY UPDATE value = 1",
        "GRANT SELECT ON orders TO x",
        "CREATE USER 'insert'@'%'",
        "OPTIMIZE TABLE orders",
    ],
)  # fmt: skip
def test_statements_without_an_effect_on_rows(text: str) -> None:
    assert STATEMENTS.effect(Query("shop", text)) is Effect.NONE


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("ALTER TABLE orders DROP PARTITION p", "cdc.columns_rewritten"),
        ("ALTER TABLE orders TRUNCATE PARTITION p", "cdc.columns_rewritten"),
        ("ALTER TABLE orders EXCHANGE PARTITION p WITH TABLE x", "cdc.columns_rewritten"),
        ("ALTER TABLE other EXCHANGE PARTITION p WITH TABLE orders", "cdc.source_changed"),
        ("ALTER TABLE orders CONVERT TO CHARACTER SET utf8mb4", "cdc.columns_rewritten"),
        ("ALTER TABLE orders DISCARD TABLESPACE", "cdc.columns_rewritten"),
        ("ALTER TABLE orders RENAME TO o2", "cdc.source_changed"),
        ("ALTER TABLE o2 RENAME orders", "cdc.source_changed"),
        ("ALTER ONLINE IGNORE TABLE orders ADD c timestamp", "cdc.column_filled"),
        ("ALTER TABLE orders ADD c int AS (a + 1)", "cdc.column_filled"),
        ("ALTER TABLE orders ADD SYSTEM VERSIONING", "cdc.columns_rewritten"),
        ("ALTER TABLE orders DROP PRIMARY KEY, ADD PRIMARY KEY (b)", "cdc.columns_rewritten"),
        ("DROP TABLE a, `shop`.`orders`", "cdc.source_changed"),
        ("RENAME TABLE a TO b, x TO orders", "cdc.source_changed"),
        ("DROP DATABASE shop", "cdc.source_changed"),
        ("/* a */ # b\n insert into x values (1)", "cdc.statement_logged"),
        ("DELETE FROM `shop`.`orders`", "cdc.statement_logged"),
        ("DELETE FROM other WHERE a = 1", "cdc.statement_logged"),
        ("CALL mysql_something()", "cdc.statement_logged"),
        ("SOMETHING orders", "cdc.source_changed"),
    ],
)
def test_statements_that_cannot_be_followed(text: str, code: str) -> None:
    with pytest.raises(Failure) as caught:
        STATEMENTS.effect(Query("shop", text))
    assert caught.value.code == code


def test_names_fold_where_the_server_ignores_their_case() -> None:
    query = Query("SHOP", "truncate Orders")
    assert STATEMENTS.effect(query) is Effect.NONE
    assert Statements("shop", "orders", folds=True).effect(query) is Effect.TRUNCATES


def test_names_that_are_not_ascii_are_read_in_the_character_set_of_the_client() -> None:
    event = Event(QUERY, 0, 1, 0, bytes(8) + b"\4" + bytes(4) + b"shop\0")
    found = [
        Statements("shop", name, folds=True).effect(parse_query(replace(event, body=event.body + text.encode(charset))))
        for name, text, charset in (
            ("größe", "TRUNCATE größe", "utf-8"),
            ("größe", "TRUNCATE GRÖSSE", "utf-8"),
            ("à", "TRUNCATE à", "utf-8"),
            ("orders", "TRUNCATE orders -- größe", "latin-1"),
            ("größe", "TRUNCATE größe", "latin-1"),
            ("größe", "TRUNCATE orders", "latin-1"),
        )
    ]
    assert found == [*[Effect.TRUNCATES] * 5, Effect.NONE]
    for statements, text in (
        (Statements("shop", "заказы", folds=False), "TRUNCATE заказы"),
        (Statements("ключ", "orders", folds=False), "TRUNCATE ключ.orders"),
        (Statements("ключ", "orders", folds=False), "DROP DATABASE ключ"),
    ):
        with pytest.raises(Failure) as caught:
            statements.effect(parse_query(replace(event, body=event.body + text.encode("cp1251"))))
        assert caught.value.code == "cdc.source_changed"
    altered = parse_query(replace(event, body=event.body + "ALTER TABLE orders DROP größe".encode("latin-1")))
    assert STATEMENTS.effect(altered) is Effect.CHANGES_COLUMNS
    with pytest.raises(Failure):
        STATEMENTS.dropped(altered)
