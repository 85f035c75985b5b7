"""The filter that a preview offers for a value is true for the rows with this value, in every notation of the file."""

from __future__ import annotations

import csv
import io
from typing import Any

from flowapp.node_previews.column_edits import ColumnEdit, column_patch
from tests.executors.conformance.test_node_previews import after, preview
from tests.executors.conformance.world import World

VALUES = {
    "float": ("1e300", "-0.1", "1e-7"),
    "timestamptz": ("2026-01-31T10:00:00Z", "2026-07-31T10:00:00.250+02:00", ""),
    "timestamp": ("2026-01-31 10:00:00", "2026-01-31T10:00:00.123456", ""),
    "time": ("10:30", " 23:59:59.50", "00:00:00"),
    "decimal(38,10)": ("12345678901234567890.5", "-0.0000000001", "12345678901234567890.4"),
    "bigint": ("9223372036854775807", "-9223372036854775808", "9223372036854775806"),
    "uuid": ("6F9619FF-8B86-D011-B42D-00CF4FC964FF", "6f9619ff-8b86-d011-b42d-00cf4fc964fe", ""),
    "json": ('{"b":1, "a":2.50}', "[]", ""),
    "binary": (r"\x00ff", r"\x41", ""),
    "boolean": ("yes", "no", ""),
    "string": ("O'Hara", r"a\b", "5%"),
}
COLUMNS = [{"name": f"c{n}", "type": kind} for n, kind in enumerate(VALUES)]


def filter_of(document: dict[str, Any], column: dict[str, str], value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    edit = ColumnEdit("keep_value", "src", column["name"], column["type"], text)
    where: str = column_patch(document, edit)[-1]["value"]["ops"][0]["where"]
    return where


def test_it_keeps_the_rows_of_the_value(world: World) -> None:
    sink = io.StringIO()
    csv.writer(sink).writerows([[column["name"] for column in COLUMNS], *zip(*VALUES.values(), strict=True)])
    world.write("a", sink.getvalue())
    document = world.document(columns=COLUMNS)
    filters = {
        f"{column['name']}_{at}": filter_of(document, column, row[column["name"]])
        for at, row in enumerate(after(preview(world, document, "src")))
        for column in COLUMNS
        if row[column["name"]] is not None
    }
    derived = world.document(columns=COLUMNS, ops=[{"op": "derive", "columns": filters}])
    rows = after(preview(world, derived, "shape"))
    matching = {name: [at for at, row in enumerate(rows) if row[name]] for name in filters}
    assert matching == {name: [int(name.rpartition("_")[2])] for name in filters}
