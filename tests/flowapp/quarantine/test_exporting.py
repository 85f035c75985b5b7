"""Rejected rows as a file for a spreadsheet."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import re
import time
from collections.abc import AsyncGenerator, Iterator
from typing import Any, cast

import pytest
from django.db import connection, connections

from flowapp.cli import main
from flowapp.quarantine.exporting import FIELDS, Sending, as_csv, fields_of, in_thread, list_all, neutral
from flowapp.quarantine.models import RowDecision
from flowapp.quarantine.selectors import EntryFilter
from flowapp.runs.holds import Decider
from tests.flowapp.quarantine.keeping import keep, tell_fields

pytestmark = pytest.mark.django_db


@pytest.fixture
def table(schema) -> str:
    return f'{schema}."My Orders"'


def lines(workspace, filters: EntryFilter) -> list[dict[str, str]]:
    text = "".join(as_csv(list_all(workspace, filters), fields_of(workspace, filters)))
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_each_field_has_a_column_with_its_current_value(alices, orders, warehouse, table):
    keep(
        warehouse,
        orders,
        table,
        "r1",
        row={"status": "new", "total": "1,5"},
        fixedRow='{"status": "new", "total": "1.5"}',
    )
    keep(warehouse, orders, table, "r2", row={"status": None, "=note": "-1+1"})
    first, second = lines(alices, EntryFilter(pipeline=orders))
    assert (first["status"], first["row.status"], first["row.total"], first["row.=note"]) == ("open", "new", "1.5", "")
    assert (second["row.status"], second["row.=note"]) == ("", "'-1+1")


def test_fields_are_in_the_order_of_their_source(alices, orders, warehouse, table):
    run = keep(warehouse, orders, table, "r1", row={"a": "1", "zz": "2"})
    tell_fields(warehouse, orders, run, ["zz", "a"])
    assert fields_of(alices, EntryFilter(pipeline=orders)) == ["zz", "a"]


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("-1+1", "'-1+1"),
        ("a;=1+1", "a;'=1+1"),
        ('a;"=1+1"', 'a;"\'=1+1"'),
        ("a\n=1+1", "a\n'=1+1"),
        ("\t@x", "'\t'@x"),
        ("＝1", "'＝1"),
        ("a=1;b-2", "a=1;b-2"),
        ("a@example.com", "a@example.com"),
        (" =1+1", "' =1+1"),
        ("\xa0\u3000-1", "'\xa0\u3000-1"),
        ("\r =1", "'\r '=1"),
        ("|@x", "'|'@x"),
        (" | =1", "' | '=1"),
        ("a; =1", "a; '=1"),
        ('a|"=1', "a|\"'=1"),
        ('a\n "+1', "a\n \"'+1"),
        ("a | b = 1", "a | b = 1"),
        (" a", " a"),
        ("=-1", "'=-1"),
        ("=\t=", "'=\t'="),
        ("", ""),
    ],
)
def test_no_cell_is_a_formula_whatever_a_spreadsheet_takes_for_a_separator(value, cell):
    """One that separates by semicolons begins a cell within ours; JSON stays the same to programs."""
    assert neutral(value) == cell
    entry = dict.fromkeys((*FIELDS, "fixedRow")) | {"row": {"x": value}}
    _, line = csv.reader(io.StringIO("".join(as_csv([entry], ["x"])), newline=""))
    assert line[-3] == cell
    assert json.loads(line[-2]) == {"x": value}
    assert not re.search(r'(^|[;|\t\r\n][\s"]*)[=+\-@]', line[-2])


def test_a_cell_of_blanks_alone_takes_no_longer_than_others():
    began = time.monotonic()
    assert neutral(cell := "a" + "\n " * 500_000) == cell
    assert time.monotonic() - began < 1


def test_the_text_of_an_unreadable_record_is_not_a_field(alices, orders, warehouse, table):
    keep(warehouse, orders, table, "r1", row={"_flow_raw": "1;2"})
    (line,) = lines(alices, EntryFilter(pipeline=orders))
    assert not any(name.startswith("row.") for name in line)
    assert "1;2" in line["row"]


def test_an_export_from_an_unreachable_database_is_not_logged(alices, orders, settings):
    settings.FLOW_WORKSPACE = alices.slug
    alices.connections.update(port=1)
    assert main(["errors", "export"]) != 0
    assert not RowDecision.objects.exists()


def test_an_export_that_is_broken_off_says_so(alices, orders):
    sending = Sending(alices, EntryFilter(pipeline=orders), "csv", Decider("ann"))
    chunks = sending.note(sending.count(cast("Any", [{}, {}, {}])))
    next(chunks)
    chunks.close()
    noted = RowDecision.objects.get()
    assert (noted.rows, noted.details["brokeOff"]) == (1, True)


@pytest.mark.parametrize("seconds", [0.0, 0.3], ids=["while it is sent", "while it is read"])
def test_a_browser_that_disconnects_ends_the_query(seconds):
    ended = []

    def read() -> Iterator[str]:
        try:
            while True:
                time.sleep(seconds / 500)
                yield "row"
        finally:
            ended.append(True)

    async def go_away() -> None:
        sent = cast("AsyncGenerator[str]", in_thread(cast("Any", read())))
        if seconds:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(sent), seconds / 3)
        else:
            await anext(sent)
            await sent.aclose()

    asyncio.run(go_away())
    assert ended == [True]


def test_the_threads_of_an_export_keep_no_database_connection():
    used = []

    def read() -> Iterator[str]:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        used.append(connections["default"])
        yield "row"

    async def send() -> list[str]:
        return [text async for text in in_thread(cast("Any", read()))]

    assert asyncio.run(send()) == ["row"]
    assert [each.connection for each in used] == [None]
