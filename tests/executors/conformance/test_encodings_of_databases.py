"""Databases whose encoding lacks characters, or is not defined."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.types.json import Jsonb

from executors.errors import Terminal
from executors.model import Connection
from executors.postgres.client import connect
from tests.executors.conformance.world import World, reconciles, target_of

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

Made = Callable[[str], World]


@contextmanager
def database(server: Connection, warehouse: Connection, encoding: str) -> Iterator[Connection]:
    name = f"flow_{encoding.lower()}_{secrets.token_hex(4)}"
    with connect(server, autocommit=True) as admin:
        admin.execute(
            sql.SQL(
                "CREATE DATABASE {} OWNER {} TEMPLATE template0 ENCODING {} LOCALE_PROVIDER libc LOCALE 'C'"
            ).format(sql.Identifier(name), sql.Identifier(warehouse.user), sql.Literal(encoding))
        )
        yield replace(warehouse, database=name)
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture
def latin(server: Connection, warehouse: Connection, tmp_path: Path, encryption_keys: str) -> Iterator[World]:
    """A world in a database with the characters of Western Europe."""
    with database(server, warehouse, "LATIN1") as connection:
        yield World(tmp_path, connection, "public")


TEXT = "id,name\n1,é\n2,a€b\n3,Ж\n4,ok\n"
REJECTED = 'select "sourceRecord", "ruleId", field, message, "row" from rejected order by 1, 2'


@pytest.mark.parametrize("mode", ["append", "upsert"])
def test_a_character_that_the_target_lacks_is_refused_with_its_row(latin: World, mode: str) -> None:
    latin.sql("create table t (id int primary key, name text)")
    latin.write("rows.csv", TEXT)
    report = latin.run(latin.document(mode=mode, onTypeMismatch="skip"))
    assert latin.rows() == [(1, "é"), (4, "ok")]
    assert latin.sql(REJECTED) == [
        (
            2,
            "character:name",
            "name",
            "holds U+20AC (EURO SIGN), not in the database's encoding LATIN1",
            {"id": "2", "name": "a\\u{20AC}b", "_flow_escaped": ["name"]},
        ),
        (
            3,
            "character:name",
            "name",
            "holds U+0416 (CYRILLIC CAPITAL LETTER ZHE), not in the database's encoding LATIN1",
            {"id": "3", "name": "\\u{0416}", "_flow_escaped": ["name"]},
        ),
    ]
    assert (target_of(report).rows_rejected, reconciles(report)) == (2, True)


def test_a_load_that_skips_none_stops_and_names_column_and_rows(latin: World) -> None:
    latin.write("rows.csv", TEXT)
    with pytest.raises(
        Terminal, match=r"'name' \(contains a character that .* LATIN1 does not have\) failed on 2 rows .*2, 3"
    ):
        latin.run(latin.document())
    assert latin.sql("select to_regclass('public.t')") == [(None,)]


def test_rows_that_a_rule_rejects_and_files_of_any_name_are_kept_escaped(latin: World) -> None:
    latin.sql("create table t (id int, name text)")
    latin.write("Größe €.csv", "id,name,Ж\n1,€\\,x\n2,b,y\n")
    rule = {"type": "range", "field": "id", "min": 2, "onFail": "skip"}
    drop = [{"op": "drop", "columns": ["Ж"]}]
    report = latin.run(latin.document(rules=[rule], ops=drop, onTypeMismatch="skip"))
    assert latin.rows() == [(2, "b")]
    ((name, row),) = latin.sql('select "sourceFile", "row" from rejected')
    assert name == "in/Größe \\u{20AC}.csv"
    assert row == {"id": "1", "name": "\\u{20AC}\\\\", "\\u{0416}": "x", "_flow_escaped": ["name"]}
    assert reconciles(report)


def test_a_column_whose_name_the_database_cannot_hold_is_refused_by_name(latin: World) -> None:
    latin.write("rows.csv", "id,größe,€\n1,2,3\n")
    with pytest.raises(Terminal, match=r"target\.name_unusable.*'€' holds U\+20AC .* LATIN1"):
        latin.run(latin.document())


def test_bad_characters_become_null_if_configured(latin: World) -> None:
    latin.sql("create table t (id int, name text)")
    latin.write("rows.csv", TEXT)
    latin.run(latin.document(onTypeMismatch="null"))
    assert latin.rows() == [(1, "é"), (2, None), (3, None), (4, "ok")]


def raw(connection: Connection, statement: str) -> None:
    with psycopg.connect(
        host=connection.host,
        port=connection.port,
        dbname=connection.database,
        user=connection.user,
        password=connection.password,
        autocommit=True,
        client_encoding="SQL_ASCII",
    ) as session:
        session.execute(statement.encode())


@pytest.fixture
def anything(server: Connection, warehouse: Connection, tmp_path: Path, encryption_keys: str) -> Iterator[World]:
    """A world in a database that accepts every byte as a character (SQL_ASCII)."""
    with database(server, warehouse, "SQL_ASCII") as connection:
        yield World(tmp_path, connection, "public")


def test_bytes_that_are_no_text_are_refused_with_their_column_and_row(anything: World) -> None:
    for table in ("s", "t"):
        anything.sql(f"create table {table} (id int, name text, note text)")
    raw(anything.warehouse, r"insert into s values (1, 'Ann', 'x'), (2, E'caf\xE9', 'y'), (3, 'Zoe', null)")
    report = anything.run(anything.table_document(onTypeMismatch="skip"))
    assert anything.sql("select id, name::bytea from t order by 1") == [(1, b"Ann"), (3, b"Zoe")]
    found: list[tuple[Any, ...]] = anything.sql(
        'select "sourceRecord", message::bytea, "row"->>\'_flow_raw\' from rejected'
    )
    assert found == [(2, b"Column 'name' holds the byte E9, which is not UTF-8.", b"2,caf\\xe9,y")]
    assert (target_of(report).rows_rejected, reconciles(report)) == (1, True)


def test_databases_of_two_encodings_each_get_json_that_they_can_hold(server: Connection, warehouse: Connection) -> None:
    with database(server, warehouse, "LATIN1") as latin, database(server, warehouse, "WIN1251") as cyrillic:
        for connection, held in ((cyrillic, "Ж\\u{00FC}"), (latin, "\\u{0416}ü")):
            with connect(connection) as session:
                row = session.execute("SELECT %s ->> 'name'", [Jsonb({"name": "Жü"})]).fetchone()
                assert row == (held,)
