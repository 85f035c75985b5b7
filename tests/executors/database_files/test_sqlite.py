"""SQLite files: values of any type in any column, queries that read nothing else, and files that change."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from executors.errors import Failure, Transient
from executors.postgres.watermark_types import WatermarkType
from executors.reading import Bound
from executors.sources.base import RowLimit
from tests.executors.database_files.reading import read, rows_of, source_of

BIGINT = WatermarkType("number", "bigint", "bigint")


def make(folder: Path, *statements: str) -> sqlite3.Connection:
    conn = sqlite3.connect(folder / "shop.sqlite", isolation_level=None)
    for statement in statements:
        conn.execute(statement)
    return conn


def table(name: str = "t") -> dict[str, Any]:
    return {"path": "shop.sqlite", "table": {"name": name}}


def query(text: str) -> dict[str, Any]:
    return {"path": "shop.sqlite", "query": text}


TYPES = (
    ("INTEGER", "-9223372036854775808", "bigint", "-9223372036854775808"),
    ("REAL", "0.1", "float", "0.1"),
    ("REAL", "9e999", "float", "Infinity"),
    ("DECIMAL(10,2)", "2.5", "decimal(10,2)", "2.5"),
    ("DECIMAL(10,2)", "'12345678901234567890.123'", "decimal(10,2)", "1.2345678901234567e+19"),
    ("NUMERIC", "3", "string", "3"),
    ("BOOLEAN", "1", "boolean", "1"),
    ("VARCHAR(10)", "'naïve 🙂'", "string", "naïve 🙂"),
    ("TEXT", "''", "string", ""),
    ("DATE", "'2024-02-29'", "date", "2024-02-29"),
    ("DATETIME", "'2024-02-29 12:00:00.5'", "timestamp", "2024-02-29 12:00:00.5"),
    ("DATE", "1709164800", "date", "1709164800"),
    ("BLOB", "x'00ff41'", "binary", "\\x00FF41"),
    ("JSON", "'{\"a\": 1}'", "json", '{"a": 1}'),
    ("", "7", "string", "7"),
    ("INTEGER", "'many'", "bigint", "many"),
    ("INTEGER", "1.5", "bigint", "1.5"),
    ("TEXT", "NULL", "string", None),
)


def test_every_value_arrives_as_it_is(tmp_path: Path) -> None:
    columns = ", ".join(f"c{at} {kind}" for at, (kind, *_) in enumerate(TYPES))
    make(tmp_path, f"CREATE TABLE t ({columns})", f"INSERT INTO t VALUES ({', '.join(v for _, v, *_ in TYPES)})")
    reading, (row,) = read(tmp_path, "sqlite", table())
    found = [(str(field.type), row[field.name]) for field in reading.fields]
    assert found == [(kind, value) for _, _, kind, value in TYPES]


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        ("TEXT", "x'41'", "Column 'c' of type string holds binary data."),
        ("BLOB", "1.5", "Column 'c' of type binary holds a floating point number."),
        ("TEXT", "CAST(x'ff' AS TEXT)", "Column 'c' holds a text that is not valid UTF-8."),
    ],
)
def test_a_value_that_its_column_cannot_hold_rejects_its_row(
    tmp_path: Path, kind: str, value: str, reason: str
) -> None:
    make(tmp_path, f"CREATE TABLE t (id int, c {kind})", f"INSERT INTO t VALUES (1, NULL), (2, {value}), (3, NULL)")
    _, rows = read(tmp_path, "sqlite", table())
    assert [(row["id"], row["_flow_bad"]) for row in rows] == [("1", None), (None, reason), ("3", None)]


def test_names_are_quoted_and_never_read_as_text(tmp_path: Path) -> None:
    make(tmp_path, 'CREATE TABLE "a.b ""c" ("select" int, "x""y" int, "sp ace" int)')
    make(tmp_path, 'INSERT INTO "a.b ""c" VALUES (1, 2, 3)')
    _, (row,) = read(tmp_path, "sqlite", table('a.b "c'))
    assert (row["select"], row['x"y'], row["sp ace"]) == ("1", "2", "3")


def test_a_column_may_have_the_name_of_a_refused_function(tmp_path: Path) -> None:
    make(tmp_path, "CREATE TABLE t (load_extension int)", "INSERT INTO t VALUES (1)")
    _, (row,) = read(tmp_path, "sqlite", table())
    assert row["load_extension"] == "1"


def test_a_query_has_the_types_of_the_columns_that_it_passes_on(tmp_path: Path) -> None:
    make(tmp_path, "CREATE TABLE t (id int, at date)", "INSERT INTO t VALUES (1, '2024-01-01'), (2, '2024-01-02')")
    reading, rows = read(tmp_path, "sqlite", query("SELECT id, at AS day, id * 2 AS twice FROM t WHERE id > 1 -- new"))
    assert [str(field.type) for field in reading.fields] == ["bigint", "date", "string"]
    assert [(row["id"], row["day"], row["twice"]) for row in rows] == [("2", "2024-01-02", "4")]


@pytest.mark.parametrize(
    ("config", "code"),
    [
        (table("nothing"), "source.table_unknown"),
        (query("SELECT nothing FROM t"), "source.statement_refused"),
        (query('SELECT "nothing" FROM t'), "query.not_allowed"),
        (query("SELECT id, id AS ID FROM t"), "source.column_repeated"),
        (query("SELECT * FROM pragma_database_list"), "query.not_allowed"),
        (query("SELECT load_extension('x') AS x"), "query.not_allowed"),
        (query("SELECT 1) AS q; DROP TABLE t; --"), "query.malformed"),
        (query("SELECT printf(text, id) AS x FROM t"), "query.not_allowed"),
        ({**table(), "path": "none.sqlite"}, "source.path_missing"),
        ({**table(), "path": "text.sqlite"}, "source.malformed"),
        ({**table(), "path": "out/shop.sqlite"}, "source.path_outside"),
    ],
)
def test_what_cannot_be_read_is_said_before_anything_is_read(tmp_path: Path, config: dict[str, Any], code: str) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    make(folder, "CREATE TABLE t (id int)")
    (folder / "text.sqlite").write_text("id,name\n" * 1000)
    (folder / "out").symlink_to(tmp_path)
    with pytest.raises(Failure) as refused:
        read(folder, "sqlite", config)
    assert (refused.value.code, refused.value.node) == (code, "src")


def test_rows_of_the_log_are_read(tmp_path: Path) -> None:
    """In WAL mode, the newest rows are in a second file until a checkpoint."""
    writer = make(tmp_path, "PRAGMA journal_mode = WAL", "CREATE TABLE t (id int)", "INSERT INTO t VALUES (1), (2)")
    assert (tmp_path / "shop.sqlite-wal").stat().st_size
    _, rows = read(tmp_path, "sqlite", table())
    writer.close()
    assert [row["id"] for row in rows] == ["1", "2"]


def test_a_file_that_is_overwritten_while_it_is_read_fails(tmp_path: Path) -> None:
    make(tmp_path, "CREATE TABLE t (id int, text text)")
    conn = make(tmp_path, "BEGIN")
    conn.executemany("INSERT INTO t VALUES (?, ?)", ((n, "x" * 3000) for n in range(5000)))
    conn.execute("COMMIT")
    conn.close()
    other = tmp_path / "other.sqlite"
    shutil.copy(tmp_path / "shop.sqlite", other)
    handler = source_of(tmp_path, "sqlite", table())
    with ExitStack() as stack:
        handler.open(stack)
        reading = handler.reading(is_last=True)
        batches = reading.reader.read(reading.parts[0], reading.fields)
        next(batches)
        with open(tmp_path / "shop.sqlite", "r+b") as file:
            file.write(other.read_bytes())
        with pytest.raises(Failure) as failed:
            list(batches)
    assert (failed.value.code, isinstance(failed.value, Transient)) == ("source.changed", True)


@pytest.mark.slow
def test_a_locked_file_is_tried_again_later(tmp_path: Path) -> None:
    make(tmp_path, "CREATE TABLE t (id int)", "BEGIN EXCLUSIVE")
    with pytest.raises(Failure) as failed:
        read(tmp_path, "sqlite", table())
    assert (failed.value.code, isinstance(failed.value, Transient)) == ("source.lock_timeout", True)


def test_a_bound_leaves_out_no_value_without_a_place_in_the_order(tmp_path: Path) -> None:
    make(tmp_path, "CREATE TABLE t (id int)", "INSERT INTO t VALUES (1), (5), (7), (NULL), ('x'), (2.5)")
    _, rows = read(tmp_path, "sqlite", table(), Bound("id", BIGINT, "5"))
    assert [row["id"] for row in rows] == ["5", "7", None, "x", "2.5"]


def test_a_limit_reads_some_rows(tmp_path: Path) -> None:
    make(
        tmp_path,
        "CREATE TABLE t AS WITH RECURSIVE c(x) AS (VALUES (1) UNION ALL SELECT x+1 FROM c LIMIT 90) SELECT x FROM c",
    )
    _, first = read(tmp_path, "sqlite", table(), limit=RowLimit(5), read_only=True)
    _, drawn = read(tmp_path, "sqlite", table(), limit=RowLimit(5, random_of=50), read_only=True)
    assert (len(first), len(drawn)) == (5, 5)


def test_an_empty_table_is_empty(tmp_path: Path) -> None:
    make(tmp_path, "CREATE TABLE t (id int)")
    reading, rows = read(tmp_path, "sqlite", table())
    assert (rows, reading.is_empty()) == ([], True)
    make(tmp_path, "INSERT INTO t VALUES (1)")
    assert (len(rows_of(reading)), reading.is_empty()) == (1, False)
