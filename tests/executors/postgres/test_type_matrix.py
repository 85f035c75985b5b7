"""Every type of PostgreSQL, loaded to a table of the same types by every mode: the values are equal as text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from executors.model import Connection
from tests.executors.conformance.world import World, reconciles, target_of
from tests.executors.row_modes import ROW_MODES

MODES = ROW_MODES

TYPES = {
    "smallint": "-32768",
    "integer": "2147483647",
    "bigint": "9223372036854775807",
    "real": "1.17549435e-38",
    "double precision": "0.30000000000000004",
    "numeric": "123456789012345678901234567890.123456789012345678901234567890",
    "numeric(10,2)": "-12345678.90",
    "numeric(38,38)": "0.12345678901234567890123456789012345678",
    "numeric(60,30)": "123456789012345678901234567890.123456789012345678901234567890",
    "numeric(3,-2)": "12300",
    "numeric(2,4)": "0.0012",
    "money": "$1,234.56",
    "boolean": "true",
    "text": 'a "b"\n\\. \\N,;\té€🙂 ',
    "character varying(5)": "é€🙂 x",
    "character(5)": "ab",
    '"char"': "x",
    "name": "Name",
    "bytea": "\\x00ff0a22",
    "date": "0001-01-01",
    "time without time zone": "23:59:59.999999",
    "time(3) without time zone": "01:02:03.004",
    "time with time zone": "23:59:59.5+02:30",
    "timestamp without time zone": "9999-12-31 23:59:59.999999",
    "timestamp(0) without time zone": "2024-02-29 12:00:00",
    "timestamp with time zone": "2024-02-29 12:00:00.5+13:45",
    "interval": "1 year -2 mons 3 days -04:05:06.789",
    "interval day to second(3)": "3 days 04:05:06.789",
    "uuid": "0B5CE2E3-6B2E-4B8E-9A36-1B4C8A1F0E11",
    "json": '{"a":  1, "a": 2.00, "é": [null, 1e400]}',
    "jsonb": '{"a": 2.00, "b": "\\u00e9 \\\\ \\"", "n": 12345678901234567890.12}',
    "xml": "<a b='1'>x &amp; y</a>",
    "bit(3)": "101",
    "bit varying(5)": "0110",
    "inet": "2001:db8::1/64",
    "cidr": "10.0.0.0/8",
    "macaddr": "08:00:2b:01:02:03",
    "macaddr8": "08:00:2b:01:02:03:04:05",
    "point": "(1.5,-2)",
    "line": "{1,2,3}",
    "lseg": "[(0,0),(1,1)]",
    "box": "(1,1),(0,0)",
    "path": "[(0,0),(1,1)]",
    "polygon": "((0,0),(1,1),(1,0))",
    "circle": "<(0,0),1.5>",
    "int4range": "[1,10)",
    "numrange": "(,1.5]",
    "tstzrange": '["2024-01-01 00:00:00+00",)',
    "int4multirange": "{[1,2),[5,7)}",
    "integer[]": "{1,NULL,-3}",
    "integer[][]": "{{1,2},{3,4}}",
    "text[]": '{"a,b","c\\"d",NULL,"",NULL,"{}"}',
    "numeric[]": "{1.10,NaN}",
    "timestamp with time zone[]": '{"2024-02-29 12:00:00.5+00"}',
    "jsonb[]": '{"{\\"a\\": 1}"}',
    "bytea[]": '{"\\\\x00ff"}',
    "tsvector": "'a':1 'b':2A",
    "tsquery": "'a' & 'b'",
    "oid": "4294967295",
    "regtype": "integer",
    "pg_lsn": "16/B374D848",
    "{schema}.mood": "so, so",
    "{schema}.mood[]": '{"so, so",happy}',
    "{schema}.positive": "7",
    '{schema}."Short Text"': "abc",
    "{schema}.price": "12345678901234567890.5",
    "{schema}.pair": '(1,"a, b")',
    "{schema}.span": "[1.5,2.5]",
}
"""Type and a value of it. The first placeholder is the test's schema."""

DEFINITIONS = """
    create type mood as enum ('so, so', 'happy');
    create domain positive as int check (value > 0);
    create domain "Short Text" as varchar(3);
    create domain price as numeric;
    create type pair as (a int, b text);
    create type span as range (subtype = float8)"""

Copied = dict[str, tuple[list[Any], list[Any]]]


@pytest.fixture(scope="module", params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def copied(
    mode: str, warehouse: Connection, tmp_path_factory: pytest.TempPathFactory, encryption_keys: str
) -> Iterator[Copied]:
    """All types in one table, copied by one run with the mode: by type, the texts before and after."""
    schema = f"matrix_{mode}"
    world = World(Path(tmp_path_factory.mktemp(mode)), warehouse, schema)
    world.sql(f"create schema {schema}")
    types = make_tables(world)
    for loaded in (2, LOADED_AGAIN.get(mode, 2)):
        if mode == "append":
            world.sql("truncate t")
        report = world.run(world.table_document(mode=mode, quarantine=False))
        assert (target_of(report).rows_loaded, reconciles(report)) == (loaded, True)
    if mode == "upsert":
        assert target_of(report).rows_unchanged == 2
    yield {kind: (texts(world, "s", n), texts(world, "t", n)) for n, kind in enumerate(types)}
    world.sql(f"drop schema {schema} cascade")


LOADED_AGAIN = {"incremental_watermark": 0}
"""Rows that a second run over the same rows loads, where they are not all."""


def has_xml(world: World) -> bool:
    """Return whether the server was built with XML."""
    try:
        world.sql("select '<a/>'::xml")
    except psycopg.errors.FeatureNotSupported:
        return False
    return True


def make_tables(world: World) -> dict[str, str]:
    """Make `s` with all types of this server and a value of each, and an empty `t` with the same types."""
    world.sql(DEFINITIONS)
    types = {kind: value for kind, value in TYPES.items() if kind != "xml" or has_xml(world)}
    for table in ("s", "t"):
        columns = ", ".join(f"c{n} {kind.format(schema=world.schema)}" for n, kind in enumerate(types))
        world.sql(f"create table {table} (id int primary key, {columns})")
    fill(world, types)
    return types


def fill(world: World, types: dict[str, str]) -> None:
    """Insert one full row and one with NULLs."""
    names = ", ".join(f"c{n}" for n in range(len(types)))
    values = ", ".join(f"%s::{kind.format(schema=world.schema)}" for kind in types)
    world.sql(f"insert into s (id, {names}) values (1, {values})", *types.values())
    world.sql("insert into s (id) values (2)")


def texts(world: World, table: str, n: int) -> list[Any]:
    return world.sql(f"select c{n}::text, c{n} is null from {table} order by id")


@pytest.mark.parametrize("kind", TYPES)
def test_a_value_and_null_arrive_as_they_are(copied: Copied, kind: str) -> None:
    if kind not in copied:
        pytest.skip("the server was built without XML")
    before, after = copied[kind]
    assert after == before
    assert [is_null for _, is_null in after] == [False, True]


def test_they_come_out_of_a_query_as_out_of_a_table(
    tmp_path: Path, warehouse: Connection, schema: str, encryption_keys: str
) -> None:
    world = World(tmp_path, warehouse, schema)
    types = make_tables(world)
    report = world.run(world.table_document(query=f"select * from {schema}.s", quarantine=False))
    assert reconciles(report)
    changed = [kind for n, kind in enumerate(types) if texts(world, "s", n) != texts(world, "t", n)]
    assert changed == []
