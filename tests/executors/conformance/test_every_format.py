"""A run loads files of each format through Spark: exact values, rejected records that can be fixed and replayed."""

from __future__ import annotations

import bz2
import datetime as dt
import gzip
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from xml.sax.saxutils import escape

import fastavro
import openpyxl
import pyarrow as pa
import pytest
from backports import zstd
from pyarrow import orc

from executors.model import RowsRef
from executors.postgres.client import connect
from executors.postgres.quarantined import Owner, change_of, change_rows, find_rows
from executors.runs.replay import replay_rows
from executors.table_name import TableName
from tests.executors.conformance.world import World, reconciles, target_of

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

Rows = Sequence[tuple[int, str, Decimal, dt.date]]
ROWS: Rows = [
    (1, "Žižek & <b>", Decimal("1.10"), dt.date(2024, 2, 29)),
    (2, "x", Decimal("-0.05"), dt.date(1970, 1, 1)),
    (3, "日本", Decimal("1234567.89"), dt.date(9999, 12, 31)),
]
"""The rule of the test rejects the second row."""
NAMES = ("id", "name", "amount", "day")
COLUMNS = [
    {"name": "id", "type": "bigint"},
    {"name": "name", "type": "string"},
    {"name": "amount", "type": "decimal(12,2)"},
    {"name": "day", "type": "date"},
]


def avro(rows: Rows) -> bytes:
    out = io.BytesIO()
    types = (
        "long",
        "string",
        {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2},
        {"type": "int", "logicalType": "date"},
    )
    fields = [{"name": name, "type": kind} for name, kind in zip(NAMES, types, strict=True)]
    schema = fastavro.parse_schema({"type": "record", "name": "r", "fields": fields})
    fastavro.writer(out, schema, [dict(zip(NAMES, row, strict=True)) for row in rows], codec="deflate")
    return out.getvalue()


def orc_file(rows: Rows) -> bytes:
    out = io.BytesIO()
    types = (pa.int64(), pa.string(), pa.decimal128(12, 2), pa.date32())
    values = [pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), types, strict=True)]
    orc.write_table(pa.table(values, names=list(NAMES)), out)
    return out.getvalue()


def workbook(rows: Rows) -> bytes:
    book, out = openpyxl.Workbook(), io.BytesIO()
    for row in (NAMES, *rows):
        book.active.append(list(row))
    book.save(out)
    return out.getvalue()


def csv(rows: Rows) -> bytes:
    return "".join(f"{','.join(map(str, row))}\n" for row in (NAMES, *rows)).encode()


def jsonl(rows: Rows) -> bytes:
    line = '{{"id": {}, "name": "{}", "amount": {}, "day": "{}"}}\n'
    return "".join(line.format(*row) for row in rows).encode()


def xml(rows: Rows) -> bytes:
    members = "".join(f"<{name}>{{}}</{name}>" for name in NAMES)
    records = "".join(f"<row>{members.format(*(escape(str(value)) for value in row))}</row>\n" for row in rows)
    return f'<?xml version="1.0" encoding="utf-16"?><rows>{records}</rows>'.encode("utf-16")


def fixed_width(rows: Rows) -> bytes:
    return "".join(f"{row[0]:>4}{row[1]:<12}{row[2]:>12}{row[3]}\r\n" for row in rows).encode()


@dataclass(frozen=True)
class Case:
    """The settings of a format, and what writes rows in it."""

    settings: dict[str, Any]
    write: Callable[[Rows], bytes]


WIDTHS = [{"name": name, "width": width} for name, width in zip(NAMES, (4, 12, 12, 10), strict=True)]
CASES = {
    "csv.gz": Case({"type": "csv"}, lambda rows: gzip.compress(csv(rows))),
    "csv.zst": Case({"type": "csv"}, lambda rows: zstd.compress(csv(rows))),
    "csv.bz2": Case({"type": "csv"}, lambda rows: bz2.compress(csv(rows))),
    "jsonl.gz": Case({"type": "jsonl"}, lambda rows: gzip.compress(jsonl(rows))),
    "fixed_width": Case({"type": "fixed_width", "columns": WIDTHS}, fixed_width),
    "fixed_width.gz": Case({"type": "fixed_width", "columns": WIDTHS}, lambda rows: gzip.compress(fixed_width(rows))),
    "xlsx": Case({"type": "xlsx"}, workbook),
    "xml": Case({"type": "xml", "recordPath": "rows/row"}, xml),
    "avro": Case({"type": "avro"}, avro),
    "orc": Case({"type": "orc"}, orc_file),
}
FORMATS = [pytest.param(name, marks=[] if name == "xlsx" else [pytest.mark.slow]) for name in CASES]
KNOWN = {"id": "known", "type": "oneOf", "field": "name", "values": [ROWS[0][1], ROWS[2][1]], "onFail": "skip"}


@pytest.mark.parametrize("name", FORMATS)
def test_values_are_exact_and_a_rejected_row_is_loaded_after_its_fix(world: World, name: str) -> None:
    case = CASES[name]
    world.write(f"a.{name}", case.write(ROWS))
    document = world.document(source={"format": case.settings}, columns=COLUMNS, rules=[KNOWN])
    report = world.run(document)
    assert world.rows(", ".join(NAMES)) == [ROWS[0], ROWS[2]]
    assert reconciles(report)
    t = target_of(report)
    assert (t.rows_read, t.rows_loaded, t.rows_rejected, t.rows_filtered) == (3, 2, 1, 0)
    ((row,),) = world.sql("select row from rejected")
    assert {key: str(value) for key, value in row.items()} == dict(zip(NAMES, map(str, ROWS[1]), strict=True))
    replay_of_the_fixed_row(world, document, name=ROWS[2][1])
    assert world.rows(", ".join(NAMES)) == [ROWS[0], (2, ROWS[2][1], *ROWS[1][2:]), ROWS[2]]


def replay_of_the_fixed_row(world: World, document: Any, **cells: str) -> None:
    """Fix the only rejected row as a user does, and replay it."""
    table = TableName(world.schema, "rejected")
    ((rejected,),) = world.sql("select id from rejected")
    with connect(world.warehouse, autocommit=True) as conn, conn.transaction():
        owner = Owner(world.tenant, "case")
        (row,) = find_rows(conn, owner, table, [rejected])
        assert change_rows(conn, owner, [table], [row], change_of("fix", "ann", ""), {row.key: cells}) == {row.key}
    rows = RowsRef("load", "source", [(world.schema, "rejected", [rejected])])
    report = replay_rows(world.job(document, rows=rows), world.memory.ports())
    assert report.row_counts == {"loaded": 1}
    assert reconciles(report)


def unreadable(name: str, rows: Rows) -> bytes:
    """Return rows of which the second one has a value that is no date, or none that its format can read."""
    if name == "xlsx":
        return workbook([rows[0], (*rows[1][:3], "x"), rows[2]])  # type: ignore[list-item]
    return CASES[name].write(rows).replace(b"1970-01-01", b"1970-x1-01")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fixed_width", "xlsx"])
def test_a_record_with_a_value_of_another_type_shows_what_it_holds(world: World, name: str) -> None:
    world.write(f"a.{name}", unreadable(name, ROWS))
    document = world.document(source={"format": CASES[name].settings}, columns=COLUMNS, onTypeMismatch="skip")
    report = world.run(document)
    assert world.rows("id") == [(1,), (3,)]
    assert reconciles(report)
    ((row,),) = world.sql("select row from rejected")
    assert (row["id"], row["name"], row["day"]) == ("2", "x", "x" if name == "xlsx" else "1970-x1-01")
    replay_of_the_fixed_row(world, document, day="1970-01-01")
    assert world.rows("id, day")[1] == (2, dt.date(1970, 1, 1))
