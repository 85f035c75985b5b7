"""Values, failures and memory of the reader, on a real server."""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from executors.database_probe import probe_database
from executors.errors import Failure, Transient
from executors.model import StoreConnection
from executors.mysql import client
from executors.mysql.client import connect, database_of
from executors.postgres.watermark_types import WatermarkType
from executors.reading import Bound, Reading
from executors.sources import load_snapshot_source
from executors.sources.base import Claimant, RowLimit, SourceContext
from ir.nodes import Source
from tests.mariadb import MariaDB


def read(
    connection: StoreConnection, config: Mapping[str, Any], **context: Any
) -> tuple[Reading, list[dict[str, Any]]]:
    """Return the reading of a source, and its rows without the hidden columns of batches and without the trailer."""
    source = Source(id="src", kind="source", connector="mysql", connection="shop", config=dict(config))
    handler = load_snapshot_source(
        source, SourceContext(Path(), Claimant("p", frozenset({"src"}), "run-1"), store=connection, **context)
    )
    with ExitStack() as stack:
        handler.open(stack)
        reading = handler.reading(is_last=True)
        (part,) = reading.parts
        rows = [row for batch in reading.reader.read(part, reading.fields) for row in batch.to_pylist()]
    assert rows[-1]["_flow_record"] == -len(rows)  # the trailer: minus one, minus the number of rows
    return reading, rows[:-1]


def past(connection: StoreConnection, table: str, bound: Bound) -> list[int]:
    """Return the ids of the rows that a source reads for a bound."""
    source = Source(id="src", kind="source", connector="mysql", connection="shop", config={"table": {"name": table}})
    handler = load_snapshot_source(
        source, SourceContext(Path(), Claimant("p", frozenset({"src"}), "run-4"), store=connection)
    )
    with ExitStack() as stack:
        handler.open(stack)
        bounded = handler.reading(is_last=True).with_bound(bound)
        rows = [row for batch in bounded.reader.read(bounded.parts[0], bounded.fields) for row in batch.to_pylist()]
    return values_of(rows[:-1], "id")


def values_of(rows: Sequence[Mapping[str, Any]], column: str) -> list[Any]:
    return [row[column] for row in rows]


DIGITS = "123456789012345678.12345678901234567890"
TYPES = (
    ("tinyint(1)", "2", "integer", 2),
    ("smallint unsigned", "65535", "integer", 65535),
    ("int", "-2147483648", "integer", -(2**31)),
    ("int unsigned", "4294967295", "bigint", 2**32 - 1),
    ("int(5) zerofill", "42", "bigint", 42),
    ("bigint", "-9223372036854775808", "bigint", -(2**63)),
    ("bigint unsigned", "18446744073709551615", "decimal(20,0)", "18446744073709551615"),
    ("decimal(38,20)", DIGITS, "decimal(38,20)", DIGITS),
    ("decimal(65,30) unsigned", "1." + "0" * 29 + "1", "decimal(65,30)", "1." + "0" * 29 + "1"),
    ("decimal(10,0)", "-12", "decimal(10,0)", "-12"),
    ("float", "16777217.5", "float", 16777218.0),
    ("double", "0.1", "float", 0.1),
    ("double", "1.7976931348623157e308", "float", 1.7976931348623157e308),
    ("bit(1)", "b'1'", "bigint", 1),
    ("bit(64)", "b'" + "1" * 64 + "'", "decimal(20,0)", "18446744073709551615"),
    ("year", "1999", "integer", 1999),
    ("date", "'2024-02-29'", "date", "2024-02-29"),
    ("date", "'0000-00-00'", "date", "0000-00-00"),
    ("datetime(6)", "'9999-12-31 23:59:59.999999'", "timestamp", "9999-12-31 23:59:59.999999"),
    ("timestamp(3) null", "'2024-07-01 12:00:00.125'", "timestamptz", "2024-07-01 12:00:00.125+00"),
    ("time(6)", "'-838:59:59.000001'", "time", "-838:59:59.000001"),
    ("varchar(40)", "'naïve 🙂 \"x\", \\\\ '", "string", 'naïve 🙂 "x", \\ '),
    ("varchar(40) charset latin1", "'Zürich'", "string", "Zürich"),
    ("char(5)", "''", "string", ""),
    ("enum('a','b')", "'b'", "string", "b"),
    ("set('a','b')", "'a,b'", "string", "a,b"),
    ("json", "'{\"a\": 1}'", "string", '{"a": 1}'),
    ("uuid", "'123e4567-e89b-12d3-a456-426655440000'", "string", "123e4567-e89b-12d3-a456-426655440000"),
    ("blob", "x'00ff41'", "binary", "\\x00FF41"),
    ("binary(3)", "x'00ff41'", "binary", "\\x00FF41"),
    ("longtext", "NULL", "string", None),
)  # fmt: skip


def test_every_type_arrives_exactly(mariadb: MariaDB) -> None:
    columns = ", ".join(f"c{at} {kind}" for at, (kind, *_) in enumerate(TYPES))
    mariadb.run(
        "SET time_zone = '+00:00'",
        "DROP TABLE IF EXISTS kinds",
        f"CREATE TABLE kinds ({columns})",
        f"INSERT INTO kinds VALUES ({', '.join(value for _, value, *_ in TYPES)})",
    )
    reading, (row,) = read(mariadb.connection(), {"table": {"name": "kinds"}})
    found = [(str(field.type), row[field.name]) for field in reading.fields]
    assert found == [(kind, value) for _, _, kind, value in TYPES]


def test_a_binary_value_of_more_than_half_a_packet_arrives(mariadb: MariaDB) -> None:
    size = 9 << 20  # the server's packets have 16 MiB
    mariadb.run(
        "CREATE OR REPLACE TABLE large (id int, value longblob)",
        f"INSERT INTO large VALUES (1, repeat('a', {size})), (2, NULL), (3, 'b')",
    )
    _, rows = read(mariadb.connection(), {"table": {"name": "large"}})
    assert values_of(rows, "value") == ["\\x" + "61" * size, None, "\\x62"]


def test_a_first_column_of_more_than_16_mb_ends_no_result(mariadb: MariaDB) -> None:
    """The driver takes a row that begins with such a value for the end of the rows."""
    size = 16 << 20
    mariadb.run("SET GLOBAL max_allowed_packet = 67108864")
    try:
        mariadb.run(
            "CREATE OR REPLACE TABLE longest (value longtext, id int)",
            f"INSERT INTO longest VALUES ('a', 1), (repeat('x', {size}), 2), ('b', 3)",
        )
        _, rows = read(mariadb.connection(), {"table": {"name": "longest"}})
    finally:
        mariadb.run("SET GLOBAL max_allowed_packet = DEFAULT")
    assert [(row["id"], len(row["value"])) for row in rows] == [(1, 1), (2, size), (3, 1)]


@pytest.mark.parametrize(
    "expression",
    ["group_concat(text)", "concat(repeat('x', 9000000), repeat(max(text), 900000))"],
    ids=["rows", "text"],
)
def test_a_query_whose_values_the_server_cuts_fails(mariadb: MariaDB, expression: str) -> None:
    mariadb.run(
        "CREATE OR REPLACE TABLE parts AS SELECT seq AS id, 'abcdefghij' AS text FROM seq_1_to_1000",
        "SET GLOBAL group_concat_max_len = 1024",
    )
    try:
        with pytest.raises(Failure) as cut:
            read(
                mariadb.connection(),
                {"query": f"SELECT id % 1 AS one, {expression} AS all_of_it FROM parts GROUP BY 1"},
            )
    finally:
        mariadb.run("SET GLOBAL group_concat_max_len = DEFAULT")
    assert (cut.value.code, cut.value.node) == ("source.value_cut", "src")


@pytest.mark.parametrize(("kind", "declared"), [("datetime(6)", "timestamp without time zone"), ("date", "date")])
def test_a_bound_leaves_out_no_value_that_is_no_date(mariadb: MariaDB, kind: str, declared: str) -> None:
    mariadb.run(
        f"CREATE OR REPLACE TABLE dated (id int, at {kind})",
        "INSERT INTO dated VALUES (1, '2024-01-01'), (2, '2024-03-01'), (3, NULL)",
        "INSERT INTO dated VALUES (4, '0000-00-00'), (7, '0000-05-05')",
    )
    value = "2024-03-01" if kind == "date" else "2024-03-01 00:00:00"
    assert past(mariadb.connection(), "dated", Bound("at", WatermarkType("time", declared, declared), value)) == [
        2,
        3,
        4,
        7,
    ]


def test_values_do_not_depend_on_the_servers_settings(mariadb: MariaDB) -> None:
    mariadb.run(
        "DROP TABLE IF EXISTS moments",
        "CREATE TABLE moments (at timestamp)",
        "SET time_zone = '+05:00'",
        "INSERT INTO moments VALUES ('2024-01-01 00:00:00')",
        "SET GLOBAL time_zone = '-08:00'",
        "SET GLOBAL sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'",
    )
    try:
        query = {"query": 'SELECT at, "a\\"b" AS text FROM moments'}
        _, (row,) = read(mariadb.connection(), query)
    finally:
        mariadb.run("SET GLOBAL time_zone = 'SYSTEM'", "SET GLOBAL sql_mode = ''")
    assert (row["at"], row["text"]) == ("2023-12-31 19:00:00+00", 'a"b')


def test_names_are_quoted(mariadb: MariaDB) -> None:
    mariadb.run(
        "CREATE DATABASE IF NOT EXISTS `o``dd`",
        "GRANT SELECT ON `o``dd`.* TO reader@'127.0.0.1'",
        "CREATE OR REPLACE TABLE `o``dd`.`a.b ``c` (`select` int, `x``y` int)",
        "INSERT INTO `o``dd`.`a.b ``c` VALUES (1, 2)",
    )
    _, (row,) = read(mariadb.connection(), {"table": {"database": "o`dd", "name": "a.b `c"}})
    assert (row["select"], row["x`y"]) == (1, 2)


def test_all_rows_of_many_batches_arrive_in_bounded_batches(mariadb: MariaDB) -> None:
    mariadb.run(
        "CREATE OR REPLACE TABLE many (id int, text text)",
        "INSERT INTO many SELECT seq, repeat('x', seq % 3000) FROM seq_1_to_20000",
    )
    _, rows = read(mariadb.connection(), {"table": {"name": "many"}})
    assert sorted(values_of(rows, "id")) == list(range(1, 20001))
    assert values_of(rows, "_flow_record") == list(range(1, 20001))


def test_a_limit_reads_some_rows(mariadb: MariaDB) -> None:
    mariadb.run("CREATE OR REPLACE TABLE some AS SELECT seq AS id FROM seq_1_to_100")
    _, first = read(mariadb.connection(), {"table": {"name": "some"}}, limit=RowLimit(5), read_only=True)
    _, drawn = read(mariadb.connection(), {"table": {"name": "some"}}, limit=RowLimit(5, random_of=50), read_only=True)
    assert (len(first), len(drawn)) == (5, 5)


@pytest.mark.parametrize(
    ("config", "code"),
    [
        ({"table": {"name": "nothing"}}, "source.table_unknown"),
        ({"query": "SELECT nothing FROM flow.some_columns"}, "source.statement_refused"),
        ({"query": "SELECT id, id FROM flow.some_columns"}, "source.statement_refused"),
        ({"table": {"database": "other", "name": "t"}}, "source.forbidden"),
        ({"query": "SELECT sleep(1)"}, "query.not_allowed"),
        ({"query": "SELECT place FROM flow.some_columns"}, "source.type_unsupported"),
    ],
)
def test_what_cannot_be_read_is_said_before_anything_is_read(
    mariadb: MariaDB, config: dict[str, Any], code: str
) -> None:
    mariadb.run("CREATE OR REPLACE TABLE some_columns (id int, place point)")
    with pytest.raises(Failure) as refused:
        read(mariadb.connection(), config)
    assert (refused.value.code, refused.value.node) == (code, "src")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"password": "wrong"}, "source.auth_failed"),
        ({"user": "nobody"}, "source.auth_failed"),
        ({"database": "nothing"}, "source.forbidden"),
        ({"port": 1}, "source.unreachable"),
        ({"sslmode": "require"}, "source.unreachable"),
    ],
)
def test_a_connection_that_fails_says_why_without_the_password(
    mariadb: MariaDB, change: dict[str, Any], code: str
) -> None:
    with pytest.raises(Failure) as failed, connect(replace(database_of(mariadb.connection()), **change)):
        pass
    assert failed.value.code == code
    assert not any(word in str(failed.value) for word in ("secret", "wrong"))


def test_an_interrupt_ends_the_statement(mariadb: MariaDB) -> None:
    mariadb.run("CREATE OR REPLACE TABLE slow AS SELECT seq AS id FROM seq_1_to_3000")
    query = "SELECT count(*) AS n FROM flow.slow a, flow.slow b, flow.slow c WHERE a.id + b.id < c.id"
    source = Source(id="src", kind="source", connector="mysql", connection="shop", config={"query": query})
    context = SourceContext(Path(), Claimant("p", frozenset({"src"}), "run-2"), store=mariadb.connection())
    handler = load_snapshot_source(source, context)
    with ExitStack() as stack:
        handler.open(stack)
        reading = handler.reading(is_last=True)
        threading.Timer(0.5, handler.interrupt).start()
        with pytest.raises(Failure) as ended:
            list(reading.reader.read(reading.parts[0], reading.fields))
    assert (ended.value.code, ended.value.node) == ("source.cancelled", "src")


def test_a_statement_ends_at_the_time_limit(mariadb: MariaDB) -> None:
    mariadb.run("CREATE OR REPLACE TABLE slow AS SELECT seq AS id FROM seq_1_to_3000")
    query = "SELECT count(*) AS n FROM flow.slow a, flow.slow b, flow.slow c WHERE a.id + b.id < c.id"
    with pytest.raises(Failure) as ended:
        read(mariadb.connection(), {"query": query}, most_seconds=1.0)
    assert "longer" in ended.value.message


def test_a_server_that_dies_while_rows_are_read_fails_the_read(mariadb: MariaDB) -> None:
    mariadb.run("CREATE OR REPLACE TABLE long_rows AS SELECT seq AS id, repeat('x', 10000) AS text FROM seq_1_to_20000")
    source = Source(
        id="src", kind="source", connector="mysql", connection="shop", config={"table": {"name": "long_rows"}}
    )
    handler = load_snapshot_source(
        source, SourceContext(Path(), Claimant("p", frozenset({"src"}), "run-3"), store=mariadb.connection())
    )
    with ExitStack() as stack:
        handler.open(stack)
        reading = handler.reading(is_last=True)
        batches = reading.reader.read(reading.parts[0], reading.fields)
        next(batches)
        mariadb.kill()
        try:
            with pytest.raises(Failure) as ended:
                list(batches)
        finally:
            mariadb.start()
    assert (ended.value.code, ended.value.node) == ("source.lost", "src")


def test_a_server_that_never_answers_cannot_be_reached(mariadb: MariaDB) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        connection = replace(database_of(mariadb.connection()), port=silent.getsockname()[1])
        with pytest.raises(Transient) as failed, connect(connection, timeout=1):
            pass
    assert failed.value.code == "source.unreachable"


def test_a_server_that_stops_answering_is_lost_within_the_time_limit(
    mariadb: MariaDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "GRACE_SECONDS", 0.5)
    mariadb.run("CREATE OR REPLACE TABLE long_rows AS SELECT seq AS id, repeat('x', 10000) AS text FROM seq_1_to_20000")
    with connect(database_of(mariadb.connection()), seconds=1) as session:
        rows = session.stream("SELECT * FROM flow.long_rows")
        next(rows)
        mariadb.freeze()
        try:
            with pytest.raises(Transient) as failed:
                list(rows)
        finally:
            mariadb.thaw()
    assert failed.value.code == "source.lost"


def test_one_statement_reads_one_moment(mariadb: MariaDB) -> None:
    """Each writer's transaction keeps the sum at zero."""
    mariadb.run(
        "CREATE OR REPLACE TABLE sums (id int PRIMARY KEY, n int)",
        "INSERT INTO sums SELECT seq, 0 FROM seq_1_to_20000",
    )
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            changes = (f"UPDATE sums SET n = n {sign} 1 WHERE id = {id}" for sign, id in (("+", 1), ("-", 20000)))
            mariadb.run("BEGIN", *changes, "COMMIT")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        sums = {sum(values_of(read(mariadb.connection(), {"table": {"name": "sums"}})[1], "n")) for _ in range(5)}
    finally:
        stop.set()
        writer.join()
    assert sums == {0}


def test_a_test_of_the_connection_names_the_server_and_rights_beyond_reading(mariadb: MariaDB) -> None:
    only_reads = probe_database(mariadb.connection())
    mariadb.run("CREATE USER IF NOT EXISTS writer@'127.0.0.1'", "GRANT SELECT, INSERT ON flow.* TO writer@'127.0.0.1'")
    settings = {**mariadb.connection().settings, "user": "writer"}
    writes = probe_database(replace(mariadb.connection(), settings=settings, secrets={}))
    assert only_reads.server_version.startswith("MariaDB ")
    assert (only_reads.notes, len(writes.notes)) == ((), 1)
