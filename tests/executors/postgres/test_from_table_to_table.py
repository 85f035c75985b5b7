"""Loads from one table of PostgreSQL to another: unusual values, names and table structures."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from pathlib import Path

import pytest

from executors.errors import Failure, Terminal
from executors.model import Connection
from tests.executors.conformance.world import FORMATS, World, reconciles, target_of
from tests.executors.row_modes import ROW_MODES

MODES = ROW_MODES


@pytest.fixture
def world(tmp_path: Path, warehouse: Connection, schema: str, encryption_keys: str) -> World:
    return World(tmp_path, warehouse, schema)


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def both(world: World, columns: str = "*") -> list[list[tuple[object, ...]]]:
    return [world.sql(f"select r::text from (select {columns} from {table} order by id) r") for table in ("s", "t")]


NUMBERS = ("12345.67890123456789012345", "123456789012345678901234567890.5", "NaN", "Infinity", "1e-100", "0.10")


def test_a_numeric_without_precision_loses_no_digit(world: World, mode: str) -> None:
    for table in ("s", "t"):
        world.sql(f"create table {table} (id int primary key, n numeric)")
    for place, number in enumerate(NUMBERS):
        world.sql("insert into s values (%s, %s)", place, number)
    report = world.run(world.table_document(mode=mode))
    source, target = both(world)
    assert (target, reconciles(report)) == (source, True)


def test_a_number_that_the_target_would_round_is_refused_with_its_column_and_row(world: World, mode: str) -> None:
    world.sql("create table s (id int primary key, n numeric); insert into s values (1, 1.25), (2, 1.234), (3, 'NaN')")
    world.sql("create table t (id int primary key, n numeric(5,2))")
    with pytest.raises(Terminal) as stopped:
        world.run(world.table_document(mode=mode))
    assert stopped.value.code == "rule.abort"
    assert f"'n' (does not fit decimal(5,2)) failed on 2 rows ({world.schema}.s record 2, 3)" in stopped.value.message
    assert world.rows() == []


FINER = [{"id": 1, "at": datetime(2025, 1, 1, 10)}, {"id": 2, "at": datetime(2025, 1, 1, 10, 0, 0, 600_000)}]


@pytest.mark.parametrize("source", ["table", "parquet"])
def test_a_typed_moment_that_the_target_would_round_is_rejected(world: World, mode: str, source: str) -> None:
    world.sql("create table s (id int primary key, at timestamp); create table t (id int primary key, at timestamp(0))")
    for row in FINER:
        world.sql("insert into s values (%s, %s)", *row.values())
    world.write("finer.parquet", FORMATS["parquet"](FINER))
    documents = {"table": world.table_document, "parquet": partial(world.document, format="parquet")}
    report = world.run(documents[source](mode=mode, onTypeMismatch="skip"))
    assert world.rows() == [(1, datetime(2025, 1, 1, 10))]
    assert world.sql("""select field, message, "row"->>'at' like '%%10:00:00.6%%' from rejected""") == [
        ("at", "does not fit timestamp(0) without time zone", True)
    ]
    assert (target_of(report).rows_rejected, reconciles(report)) == (1, True)


BEYOND = """
    create table {} (
        id int primary key, d date, ts timestamp, tz timestamptz, t time, n numeric(10,2), ok timestamptz
    )"""


def test_values_that_arrow_cannot_hold_arrive_as_they_are(world: World, mode: str) -> None:
    for table in ("s", "t"):
        world.sql(BEYOND.format(table))
    world.sql("""
        insert into s values (1, 'infinity', '-infinity', 'infinity', '24:00', 'NaN', now()),
            (2, '0044-03-15 BC', '0044-03-15 12:00 BC', '4713-01-01 BC', '00:00', 1.50, now()),
            (3, '5874897-12-31', '294276-12-31 23:59:59.999999', '294276-12-31', null, null, null),
            (4, '9999-12-31', '0001-01-01', '9999-12-31 23:00-10', null, null, null)""")
    report = world.run(world.table_document(mode=mode))
    source, target = both(world)
    assert (target, reconciles(report)) == (source, True)


def test_of_a_query_such_a_value_is_refused_with_its_column_and_row(world: World) -> None:
    world.sql("create table t (id int, d date)")
    with pytest.raises(Terminal) as stopped:
        world.run(world.table_document(query="select 1 as id, date 'infinity' as d"))
    assert "'d' (is not a date) failed on 1 row" in stopped.value.message
    assert "query record 1" in stopped.value.message


LONGEST = "é" * 31 + "x"
NAMES = [
    "Mixed Case",
    "select",
    'qu"ote',
    "per%cent",
    "a.b",
    "$1",
    "ключ",
    "q",
    LONGEST,
    LONGEST[:-1] + "y",
    "select ",
    "'",
]


def test_names_of_every_kind_are_names(world: World, mode: str) -> None:
    columns = ", ".join(f'"{name.replace(chr(34), chr(34) * 2)}" text' for name in NAMES).replace("%", "%%")
    for table in ('"S %% ""x"""', "t"):
        world.sql(f"create table {table} (id int primary key, {columns})", *())
    values = [f"v{place}" for place in range(len(NAMES))]
    world.sql(f'insert into "S %% ""x""" values (1, {", ".join(["%s"] * len(NAMES))})', *values)
    world.run(world.table_document('S % "x"', mode=mode))
    assert world.rows() == [(1, *values)]


def test_a_table_of_500_columns(world: World, mode: str) -> None:
    columns = [f"c{n}" for n in range(499)]
    for table in ("s", "t"):
        world.sql(f"create table {table} (id int primary key, {', '.join(f'{c} int' for c in columns)})")
    world.sql(f"insert into s select g, {', '.join('g' for _ in columns)} from generate_series(1, 3) g")
    world.run(world.table_document(mode=mode))
    source, target = both(world)
    assert source == target


@pytest.mark.parametrize("shape", ["id int generated always as identity", "id int generated always as (1 + 1) stored"])
def test_columns_that_the_target_computes_are_refused_by_name_before_the_source_is_read(
    world: World, mode: str, shape: str
) -> None:
    world.sql("create table s (id int primary key, name text); insert into s values (1, 'a')")
    world.sql(f"create table t ({shape} primary key, name text)")
    with pytest.raises(Failure) as stopped:
        world.run(world.table_document(mode=mode))
    assert (stopped.value.code, "'id'" in stopped.value.message) == ("target.column_generated", True)
    assert ("pass", "load") not in world.memory.steps


def test_identity_and_generated_columns_can_be_read_and_an_identity_by_default_be_loaded(
    world: World, mode: str
) -> None:
    world.sql("""
        create table s (id int generated always as identity primary key, twice int generated always as (7 * 2) stored);
        insert into s default values;
        create table t (id int generated by default as identity primary key, twice int)""")
    world.run(world.table_document(mode=mode))
    assert world.rows() == [(1, 14)]


@pytest.mark.parametrize(
    "made",
    [
        "create view s as select * from base",
        "create materialized view s as select * from base",
        "create table s (id int, name text) partition by list (id);"
        "create table s1 partition of s for values in (1); create table s2 partition of s default;"
        "insert into s select * from base",
        "create table s (id int, name text); create table child () inherits (s); insert into s values (1, 'a');"
        "insert into child values (2, null)",
    ],
)
def test_views_and_partitioned_tables_are_read_like_tables(world: World, made: str) -> None:
    world.sql("create table base (id int, name text); insert into base values (1, 'a'), (2, null)")
    world.sql(made)
    world.sql("create table t (id int, name text)")
    report = world.run(world.table_document())
    assert (world.rows(), target_of(report).rows_read) == ([(1, "a"), (2, None)], 2)


def test_a_single_column_of_nulls_and_empty_texts_loses_no_row(world: World) -> None:
    world.sql("create table s (name text); insert into s values (null), (''), (null), ('x'), (E'\\\\.'), (E'\\n')")
    world.sql("create table t (name text)")
    report = world.run(world.table_document(emptyAsNull=False))
    assert (target_of(report).rows_loaded, reconciles(report)) == (6, True)
    assert world.sql("select name from t except all select name from s") == []


def test_a_preview_reports_what_the_run_then_does(world: World, mode: str) -> None:
    world.sql("create table s (id int primary key, name text); insert into s values (1, 'a'), (2, 'b')")
    world.sql("create table t (id int primary key, name text)")
    document = world.table_document(mode=mode)
    (effect,) = world.preview(document).effects
    assert world.rows() == []
    assert (effect.loaded, target_of(world.run(document)).rows_loaded) == (2, 2)


def test_a_run_without_an_end_reads_too(world: World) -> None:
    world.sql("create table s (id int); insert into s values (1); create table t (id int)")
    world.run(world.table_document() | {"errorHandling": {"maxMinutes": 1e12}})
    assert world.rows() == [(1,)]
