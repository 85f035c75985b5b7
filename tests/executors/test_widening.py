"""Which types hold which values exactly."""

from __future__ import annotations

import pytest

from executors.widening import declared_as, holds, keeps_text, rewrites, widened
from ir.types import ColumnType


@pytest.mark.parametrize(
    ("column", "arriving", "wide"),
    [
        ("smallint", "integer", "integer"),
        ("integer", "bigint", "bigint"),
        ("bigint", "integer", None),
        ("integer", "numeric(12,2)", "numeric(12,2)"),
        ("integer", "numeric(4,2)", "numeric(12,2)"),
        ("bigint", "numeric", "numeric"),
        ("numeric(10,2)", "numeric(12,4)", "numeric(12,4)"),
        ("numeric(10,2)", "numeric(6,4)", "numeric(12,4)"),
        ("numeric(10,2)", "bigint", "numeric(21,2)"),
        ("numeric", "numeric(10,2)", None),
        ("numeric(990,2)", "numeric(1000,500)", None),
        ("real", "double precision", "double precision"),
        ("double precision", "real", None),
        ("date", "timestamp without time zone", "timestamp without time zone"),
        # Not exact, or dependent on a setting.
        ("bigint", "double precision", None),
        ("integer", "double precision", None),
        ("double precision", "bigint", None),
        ("date", "timestamp with time zone", None),
        ("timestamp without time zone", "timestamp with time zone", None),
        ("integer", "text", None),
        ("character varying(20)", "text", None),
        ("numeric(2,-3)", "integer", None),
    ],
)
def test_a_column_widens_only_to_a_type_that_holds_all_values_exactly(column, arriving, wide):
    assert widened(column, arriving) == wide


@pytest.mark.parametrize(
    ("column", "arriving", "is_held"),
    [
        ("bigint", "integer", True),
        ("integer", "bigint", False),
        ("numeric(12,2)", "integer", True),
        ("numeric(12,2)", "numeric(12,3)", False),
        ("uuid", "uuid", True),
        ("uuid", "text", False),
    ],
)
def test_a_column_holds_the_values_of_narrower_types(column, arriving, is_held):
    assert holds(column, arriving) is is_held


def test_only_a_wider_precision_alone_needs_no_new_rows():
    assert rewrites("integer", "bigint")
    assert rewrites("numeric(10,2)", "numeric(12,4)")
    assert not rewrites("numeric(10,2)", "numeric(12,2)")
    assert not rewrites("numeric(10,2)", "numeric")


def test_a_number_with_more_digits_after_the_point_has_another_text():
    assert keeps_text("integer", "bigint")
    assert keeps_text("bigint", "numeric(19,0)")
    assert keeps_text("numeric(10,2)", "numeric(12,2)")
    assert not keeps_text("integer", "numeric(12,2)")
    assert not keeps_text("numeric(10,2)", "numeric(12,4)")
    assert not keeps_text("real", "double precision")
    assert not keeps_text("date", "timestamp without time zone")


def test_types_of_flow_are_spelled_as_the_catalog_spells_them():
    spelled = {name: declared_as(ColumnType.parse(name)) for name in ("string", "timestamp", "decimal(9,3)", "pg:inet")}
    assert spelled == {
        "string": "text",
        "timestamp": "timestamp without time zone",
        "decimal(9,3)": "numeric(9,3)",
        "pg:inet": "inet",
    }
