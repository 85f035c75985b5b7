"""Names of tables as documents write them."""

from __future__ import annotations

import pytest

from executors.table_name import TableName


@pytest.mark.parametrize(
    ("schema", "table", "written"),
    [
        ("dlq", "orders", "dlq.orders"),
        ("dlq", "My.Orders", 'dlq."My.Orders"'),
        ("my schema", 'a"b', '"my schema"."a""b"'),
        ("Größe", "5%s", "Größe.5%s"),
    ],
)
def test_a_name_is_quoted_only_where_it_must_be_and_reads_back(schema: str, table: str, written: str) -> None:
    name = TableName(schema, table)
    assert name.written == written
    assert TableName.parse(written) == name
