from __future__ import annotations

from executors.model import SourceField
from executors.mysql.columns import Column, schema_of
from executors.mysql.read import _batch
from ir.types import STRING, ColumnType


def test_a_row_with_bytes_that_are_no_text_is_bad_and_the_others_are_read() -> None:
    columns = [Column(SourceField("id", ColumnType("integer")), "{}"), Column(SourceField("name", STRING), "{}")]
    batch = _batch([(b"1", b"a"), (b"2", b"\xff"), (b"3", None)], 1, columns, schema_of([c.field for c in columns]))
    assert batch.column("id").to_pylist() == [1, None, 3]
    assert batch.column("name").to_pylist() == ["a", None, None]
    assert batch.column("_flow_bad").to_pylist() == [None, "Column 'name' holds a value that cannot be read.", None]
    assert batch.column("_flow_raw").to_pylist()[1] == "2,\\xff"
