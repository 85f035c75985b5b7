"""Names of tables and columns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir.names import check_column, check_identifier, check_table_name, parse_table_name
from ir.pointers import ROOT


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("dlq.orders", ("dlq", "orders")),
        ("Dlq.Orders", ("Dlq", "Orders")),
        ('"my.schema"."Orders 2025"', ("my.schema", "Orders 2025")),
        ('dlq."My Orders"', ("dlq", "My Orders")),
        ('"say ""hi""".t', ('say "hi"', "t")),
        ("sch-ema.täble", ("sch-ema", "täble")),
        ('"a\nb".c', ("a\nb", "c")),
    ],
)
def test_a_table_name_is_taken_apart(text, names):
    assert parse_table_name(text) == names


@pytest.mark.parametrize(
    "text",
    ["", "orders", "a.b.c", "a.", ".b", '"a.b', '"a".b"c', '"".b', "a b.c", "a.b ", "a..b", '"a"b.c', "a.b\n", '"'],
)
def test_anything_else_is_no_table_name(text):
    with pytest.raises(ValueError, match=r"schema\.table"):
        parse_table_name(text)


names = st.text(min_size=1).filter(lambda name: "\x00" not in name)


@given(names, names)
def test_any_name_can_be_written_in_quotes(schema, table):
    quoted = ".".join('"' + name.replace('"', '""') + '"' for name in (schema, table))
    assert parse_table_name(quoted) == (schema, table)


@pytest.mark.parametrize("name", ["a", "ä" * 31, "a" * 63, "select", "a b", 'a"b', "😀" * 15])
def test_a_name_of_up_to_63_bytes_is_fine(name):
    assert list(check_identifier(name, ROOT, "table")) == []


@pytest.mark.parametrize("name", ["a" * 64, "ä" * 32, "😀" * 16])
def test_a_longer_name_is_refused_in_bytes_not_characters(name):
    assert [d.code for d in check_identifier(name, ROOT, "table")] == ["identifier.too_long"]


def test_flows_own_column_names_are_reserved():
    assert [d.code for d in check_column("_flow_file", ROOT)] == ["identifier.reserved"]
    assert list(check_column("_source_file_hash", ROOT)) == []


@pytest.mark.parametrize("name", ["flow_meta.fences", '"flow_staging".x', "flow_backups.x", "pg_catalog.pg_authid"])
def test_flows_own_schemas_and_private_system_tables_are_not_read(name):
    assert [d.code for d in check_table_name(name, ROOT, writes=False)] == ["identifier.not_readable"]


def test_flows_own_schemas_are_not_written():
    assert [d.code for d in check_table_name("flow_meta.fences", ROOT, writes=True)] == ["identifier.reserved"]
