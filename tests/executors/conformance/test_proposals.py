"""A run with the proposed settings and types loads what people read in the file."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

from executors.detection import GivenSettings, detect
from flowapp.starting.answers import Answers
from flowapp.starting.columns import choose_columns
from tests.executors.conformance.world import World, target_of

D, day, moment = Decimal, dt.date, dt.datetime
UTC = dt.UTC
COLUMNS = {
    "id": (["1", "2", "3"], [1, 2, 3]),
    "Betrag €": (["1.234,50", "-7,25", "0,10"], [D("1234.50"), D("-7.25"), D("0.10")]),
    "Menge": (["1.000", "2.500", "10"], [1000, 2500, 10]),
    "Am": (["31.12.2025", "2026-02-01", ""], [day(2025, 12, 31), day(2026, 2, 1), None]),
    "us": (["12/31/2025", "01/02/2026", "02/03/2026"], [day(2025, 12, 31), day(2026, 1, 2), day(2026, 2, 3)]),
    "us pm": (
        ["12/31/2025 12:05 AM", "01/02/2026 12:05 PM", "1/2/2026 1:00 PM"],
        [moment(2025, 12, 31, 0, 5), moment(2026, 1, 2, 12, 5), moment(2026, 1, 2, 13)],
    ),
    "zip": (["00123", "12345", "02000"], ["00123", "12345", "02000"]),
    "open date": (["01-02-2026", "03-04-2026", "05-06-2026"], ["01-02-2026", "03-04-2026", "05-06-2026"]),
    "zoned": (
        ["2026-03-29T02:30:00+01:00", "2026-03-29 01:30Z", "2026-10-25T02:30:00.123456-0330"],
        [
            moment(2026, 3, 29, 1, 30, tzinfo=UTC),
            moment(2026, 3, 29, 1, 30, tzinfo=UTC),
            moment(2026, 10, 25, 6, 0, 0, 123456, tzinfo=UTC),
        ],
    ),
    "local": (
        ["2026-03-29 02:30:00", "2026-03-29T02:30", "2026-10-25 02:30:00.5"],
        [moment(2026, 3, 29, 2, 30), moment(2026, 3, 29, 2, 30), moment(2026, 10, 25, 2, 30, 0, 500000)],
    ),
    "flag": (["ja", "nein", "ja"], ["ja", "nein", "ja"]),
    "ok": (["yes", "NO", ""], [True, False, None]),
    "big": (["9223372036854775807", "-9223372036854775808", "0"], [2**63 - 1, -(2**63), 0]),
    "long": (["92233720368547758070", "1", "2"], ["92233720368547758070", "1", "2"]),
    "sci": (["1e5", "2.5E-3", "-0.1"], [1e5, 0.0025, -0.1]),
    "fine": (["0,12345678901234567890", "1", "12,5"], [D("0.12345678901234567890"), 1, D("12.5")]),
    "time": (["10:30", "23:59:59", "00:00:00.25"], [dt.time(10, 30), dt.time(23, 59, 59), dt.time(0, 0, 0, 250000)]),
    "packed": (["20260131", "20240229", "19991231"], [day(2026, 1, 31), day(2024, 2, 29), day(1999, 12, 31)]),
    "two": (["13.02.68", "14.02.69", "01.01.00"], [day(2068, 2, 13), day(1969, 2, 14), day(2000, 1, 1)]),
    "word": (["  Müller ", '"a;b ""x"""', '"zwei\nZeilen"'], ["  Müller ", 'a;b "x"', "zwei\nZeilen"]),
    "na": (["N/A", "5", "6"], [None, 5, 6]),
    "phone": (["+431234567", "+491234567", "0123"], ["+431234567", "+491234567", "0123"]),
    "mon": (["31 Jan 2026", "1 Feb 2026", "28 Feb 2026"], [day(2026, 1, 31), day(2026, 2, 1), day(2026, 2, 28)]),
    "select": (["a", "b", "c"], ["a", "b", "c"]),
    "ctid": (["x", "y", "z"], ["x", "y", "z"]),
    "Select": (["1", "0", "1"], [1, 0, 1]),
    "a\"b'c": (["7", "8", "9"], [7, 8, 9]),
    "sp": (["1 234", "12 000 000", "5"], [1234, 12000000, 5]),
    "ap": (["1'234", "12'000'000", "5"], [1234, 12000000, 5]),
}


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def test_a_run_loads_every_value_of_every_type(world: World) -> None:
    lines = [map(quoted, COLUMNS), *zip(*(texts for texts, _ in COLUMNS.values()), strict=True)]
    data = "".join(";".join(line) + "\r\n" for line in lines).encode("cp1252")
    world.write("a.csv", data)
    found = detect(data, "a.csv", is_whole=True, given=GivenSettings())
    columns = choose_columns(Answers(), found.columns)
    document = world.document(
        source={"format": found.format.to_document()},
        columns=[column.source_column() for column in columns],
        ops=[{"op": "rename", "columns": {c.name: c.target_name for c in columns if c.name != c.target_name}}],
    )
    document["nodes"][-1]["columns"] = [{"name": c.target_name, "type": c.type} for c in columns]
    assert target_of(world.run(document)).rows_loaded == 3

    rows = world.rows(", ".join(quoted(column.target_name) for column in columns))
    loaded = {column.name: list(values) for column, values in zip(columns, zip(*rows, strict=True), strict=True)}
    assert loaded == {name: values for name, (_, values) in COLUMNS.items()}
