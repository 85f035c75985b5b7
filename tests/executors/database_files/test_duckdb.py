"""DuckDB files: exact values, queries that read nothing else, and one snapshot for all targets."""

from __future__ import annotations

import subprocess
import sys
import traceback
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import duckdb
import pytest

from executors.errors import Failure, Transient
from executors.postgres.watermark_types import WatermarkType
from executors.reading import Bound
from executors.sources.base import RowLimit
from tests.executors.database_files.reading import read, rows_of, source_of


def make(folder: Path, *statements: str) -> None:
    with duckdb.connect(str(folder / "shop.duckdb")) as conn:
        for statement in statements:
            conn.execute(statement)


def table(name: str = "t", schema: str = "main") -> dict[str, Any]:
    return {"path": "shop.duckdb", "table": {"schema": schema, "name": name}}


def query(text: str) -> dict[str, Any]:
    return {"path": "shop.duckdb", "query": text}


DIGITS = "1234567890123456789012345678.1234567890"
TYPES = (
    ("tinyint", "-128", "integer", "-128"),
    ("uinteger", "4294967295", "bigint", "4294967295"),
    ("ubigint", "18446744073709551615", "decimal(20,0)", "18446744073709551615"),
    ("hugeint", "-" + "9" * 38, "decimal(39,0)", "-" + "9" * 38),
    ("decimal(38,10)", DIGITS, "decimal(38,10)", DIGITS),
    ("float", "16777217.5", "float", "16777218.0"),
    ("double", "0.1", "float", "0.1"),
    ("double", "'inf'", "float", "inf"),
    ("boolean", "true", "boolean", "true"),
    ("date", "'2024-02-29'", "date", "2024-02-29"),
    ("date", "'infinity'", "date", "infinity"),
    ("time", "'12:00:00.5'", "time", "12:00:00.5"),
    ("timestamp", "'9999-12-31 23:59:59.999999'", "timestamp", "9999-12-31 23:59:59.999999"),
    ("timestamp_ns", "'2024-01-01 00:00:00.123456789'", "timestamp", "2024-01-01 00:00:00.123456789"),
    ("timestamptz", "'2024-07-01 12:00:00+02'", "timestamptz", "2024-07-01 10:00:00+00"),
    ("uuid", "'123e4567-e89b-12d3-a456-426655440000'", "uuid", "123e4567-e89b-12d3-a456-426655440000"),
    ("blob", r"'\x00\xffA'", "binary", "\\x00FF41"),
    ("integer[]", "[1, NULL]", "json", "[1,null]"),
    ("struct(x integer)", "{'x': 1}", "json", '{"x":1}'),
    ("map(varchar, integer)", "map {'k': 1}", "json", '{"k":1}'),
    ("json", "'{\"a\": 1.10}'", "json", '{"a": 1.10}'),
    ("enum('a', 'b')", "'b'", "string", "b"),
    ("interval", "INTERVAL 36 HOURS", "string", "36:00:00"),
    ("varchar", "'naïve 🙂'", "string", "naïve 🙂"),
    ("varchar", "''", "string", ""),
    ("varchar", "NULL", "string", None),
)


def test_every_type_arrives_exactly(tmp_path: Path) -> None:
    columns = ", ".join(f"c{at} {kind}" for at, (kind, *_) in enumerate(TYPES))
    make(
        tmp_path,
        "SET TimeZone = 'Asia/Tokyo'",
        f"CREATE TABLE t ({columns})",
        f"INSERT INTO t VALUES ({', '.join(value for _, value, *_ in TYPES)})",
    )
    reading, (row,) = read(tmp_path, "duckdb", table())
    found = [(str(field.type), row[field.name]) for field in reading.fields]
    assert found == [(kind, value) for _, _, kind, value in TYPES]


def test_names_are_quoted(tmp_path: Path) -> None:
    make(tmp_path, 'CREATE SCHEMA "s.1"', 'CREATE TABLE "s.1"."a ""b" ("select" int, "x""y" int)')
    make(tmp_path, 'INSERT INTO "s.1"."a ""b" VALUES (1, 2)')
    _, (row,) = read(tmp_path, "duckdb", table('a "b', "s.1"))
    assert (row["select"], row['x"y']) == ("1", "2")


@pytest.mark.parametrize(
    ("config", "code"),
    [
        (table("nothing"), "source.table_unknown"),
        (query("SELECT nothing FROM t"), "source.statement_refused"),
        (query("SELECT id, id AS ID FROM t"), "source.column_repeated"),
        (query("SELECT * FROM read_csv('/etc/passwd')"), "query.not_allowed"),
        (query("SELECT content FROM read_text('shop.csv')"), "query.not_allowed"),
        (query("SELECT * FROM glob('/*')"), "query.not_allowed"),
        (query("SELECT * FROM duckdb_secrets()"), "query.not_allowed"),
        (query("SELECT * FROM query('DROP TABLE t')"), "source.statement_refused"),
        (query("SELECT 1) AS q; DROP TABLE t; --"), "query.malformed"),
        (query("SELECT CAST('secret' AS INTEGER) AS x"), "source.failed"),
        ({**table(), "path": "none.duckdb"}, "source.path_missing"),
        ({**table(), "path": "text.duckdb"}, "source.malformed"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path: Path, config: dict[str, Any], code: str) -> None:
    make(tmp_path, "CREATE TABLE t (id int)")
    (tmp_path / "text.duckdb").write_text("id,name\n" * 1000)
    (tmp_path / "shop.csv").write_text("a\n1\n")
    with pytest.raises(Failure) as refused:
        read(tmp_path, "duckdb", config)
    assert (refused.value.code, refused.value.node) == (code, "src")
    assert "secret" not in str(refused.value)


def test_no_process_can_write_while_the_source_is_open(tmp_path: Path) -> None:
    make(tmp_path, "CREATE TABLE t (id int)", "INSERT INTO t VALUES (1)")
    handler = source_of(tmp_path, "duckdb", table())
    with ExitStack() as stack:
        handler.open(stack)
        write = f"import duckdb; duckdb.connect({str(tmp_path / 'shop.duckdb')!r}).execute('DELETE FROM t')"
        assert subprocess.run([sys.executable, "-c", write], capture_output=True, check=False).returncode
        first, second = (rows_of(handler.reading()) for _ in range(2))
    assert handler.is_shared
    assert [row["id"] for row in first] == [row["id"] for row in second] == ["1"]


def test_a_file_that_is_replaced_during_the_run_fails(tmp_path: Path) -> None:
    make(tmp_path, "CREATE TABLE t (id int)", "INSERT INTO t VALUES (1)")
    handler = source_of(tmp_path, "duckdb", table())
    (tmp_path / "new").mkdir()
    make(tmp_path / "new", "CREATE TABLE t (id int)", "INSERT INTO t VALUES (2)")
    with ExitStack() as stack:
        handler.open(stack)
        reading = handler.reading(is_last=True)
        (tmp_path / "new" / "shop.duckdb").replace(tmp_path / "shop.duckdb")
        with pytest.raises(Failure) as failed:
            rows_of(reading)
    assert (failed.value.code, isinstance(failed.value, Transient)) == ("source.changed", True)


def test_a_run_does_not_read_the_former_file_that_another_run_still_reads(tmp_path: Path) -> None:
    make(tmp_path, "CREATE TABLE t AS SELECT 1 AS id")
    with duckdb.connect(str(tmp_path / "new.duckdb")) as conn:
        conn.execute("CREATE TABLE t AS SELECT 2 AS id, 'x' AS extra")
    with ExitStack() as stack:
        source_of(tmp_path, "duckdb", table()).open(stack)
        (tmp_path / "new.duckdb").rename(tmp_path / "shop.duckdb")
        reading, _ = read(tmp_path, "duckdb", table())
    assert [field.name for field in reading.fields] == ["id", "extra"]


def test_a_file_with_a_writer_is_tried_again_later(tmp_path: Path) -> None:
    make(tmp_path, "CREATE TABLE t (id int)")
    hold = f"import duckdb; c = duckdb.connect({str(tmp_path / 'shop.duckdb')!r}); print('open', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout
        assert writer.stdout.readline()
        with pytest.raises(Failure) as failed:
            read(tmp_path, "duckdb", table())
        writer.communicate(b"\n")
    assert (failed.value.code, isinstance(failed.value, Transient)) == ("source.lock_timeout", True)


def test_an_error_after_the_first_rows_is_said_without_values(tmp_path: Path) -> None:
    name = "CASE WHEN range = 900000 THEN 'secret' ELSE range::varchar END"
    make(tmp_path, f"CREATE TABLE t AS SELECT {name} AS name FROM range(1000000)")
    with pytest.raises(Failure) as failed:
        read(tmp_path, "duckdb", query("SELECT name::int AS id FROM t"))
    assert (failed.value.code, failed.value.node) == ("source.failed", "src")
    assert "ConversionException" in failed.value.message
    assert "secret" not in "".join(traceback.format_exception(failed.value))


@pytest.mark.parametrize(
    ("column", "kind", "value"),
    [
        ("id", WatermarkType("number", "bigint", "bigint"), "2"),
        (
            "day",
            WatermarkType("time", "timestamp without time zone", "timestamp without time zone"),
            "2024-01-02 00:00:00",
        ),
        ("moment", WatermarkType("time", *["timestamp with time zone"] * 2), "2024-01-02 00:00:00+00"),
    ],
    ids=["number", "time", "time with a zone"],
)
def test_a_bound_reads_what_is_not_below_it(tmp_path: Path, column: str, kind: WatermarkType, value: str) -> None:
    make(
        tmp_path,
        "CREATE TABLE t (id bigint, day timestamp, moment timestamptz)",
        "SET TimeZone = 'UTC'",
        "INSERT INTO t SELECT id, day, day FROM (VALUES (1, TIMESTAMP '2024-01-01'), (2, '2024-01-02'), "
        "(3, '2024-01-03'), (NULL, NULL)) AS v (id, day)",
    )
    _, rows = read(tmp_path, "duckdb", table(), Bound(column, kind, value))
    assert [row["id"] for row in rows] == ["2", "3", None]


def test_a_limit_reads_some_rows(tmp_path: Path) -> None:
    make(tmp_path, "CREATE TABLE t AS SELECT range AS id FROM range(100)")
    _, first = read(tmp_path, "duckdb", table(), limit=RowLimit(5), read_only=True)
    _, drawn = read(tmp_path, "duckdb", table(), limit=RowLimit(5, random_of=50), read_only=True)
    assert (len(first), len(drawn)) == (5, 5)


def test_all_rows_of_many_batches_arrive(tmp_path: Path) -> None:
    make(tmp_path, "CREATE TABLE t AS SELECT range AS id, repeat('x', range % 300) AS text FROM range(20000)")
    reading, rows = read(tmp_path, "duckdb", table())
    assert sorted(int(row["id"]) for row in rows) == list(range(20000))
    assert [row["_flow_record"] for row in rows] == list(range(1, 20001))
    assert not reading.is_empty()
