"""A table has one load at a time. A conflict is detected before reading, and does not block other sessions."""

from __future__ import annotations

import pytest

from executors.errors import TargetBusy
from executors.postgres.client import connect
from executors.postgres.table_lock import lock_table, refuse_busy
from executors.table_name import TableName


def test_a_table_that_a_load_holds_is_busy_until_that_has_ended(conn, warehouse, schema):
    table = TableName(schema, "t")
    with connect(warehouse) as loader:
        lock_table(loader, table)
        with pytest.raises(TargetBusy) as busy:
            refuse_busy(conn, table, "load")
        refuse_busy(conn, TableName(schema, "u"))
    assert (busy.value.code, busy.value.node) == ("target.busy", "load")
    refuse_busy(conn, table)


def test_who_looks_holds_nothing(conn, warehouse, schema):
    table = TableName(schema, "t")
    refuse_busy(conn, table)
    with connect(warehouse) as loader:
        lock_table(loader, table)
