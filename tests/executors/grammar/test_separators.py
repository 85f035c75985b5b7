"""Numbers with a decimal comma or groups of digits, and dates in several formats."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from executors.grammar import Written, parse_column
from ir.types import ColumnType

GERMAN = Written(decimal=",", group=".")
SPACED = Written(decimal=",", group=" ")
MONEY = "decimal(12,2)"


def read(texts: list[str | None], written: Written, kind: str = MONEY) -> tuple[list[Any], list[bool]]:
    typed, bad = parse_column(pa.array(texts, pa.string()), ColumnType.parse(kind), written)
    return typed.to_pylist(), bad.to_pylist()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.234,56", "1234.56"),
        ("1234,56", "1234.56"),
        (" -1.234.567,5 ", "-1234567.5"),
        ("+12", "12"),
        (",5", "0.5"),
        ("1e5", "100000"),
        ("0,00", "0"),
    ],
)
def test_german_numbers_are_exact(text: str, value: str) -> None:
    assert read([text], GERMAN) == ([Decimal(value)], [False])


@pytest.mark.parametrize(
    "text",
    [
        "12.34",
        "1.23,4",
        "1..234",
        "1,,2",
        "--1",
        "1.234.56",
        ".5",
        "0.123",
        "1.234e5",
        "١٢",
        "1 234",
        "",
        "NULL",
        "-",
        ",",
    ],
)
def test_what_is_no_german_number_is_bad_and_never_another_number(text: str) -> None:
    assert read([text], GERMAN) == ([None], [True])


@pytest.mark.parametrize("space", [" ", "\u00a0", "\u202f"])
def test_spaces_of_all_kinds_separate_groups(space: str) -> None:
    assert read([f"1{space}234,5"], SPACED) == ([Decimal("1234.5")], [False])


def test_null_stays_null() -> None:
    assert read([None, "1,5"], GERMAN) == ([None, Decimal("1.5")], [False, False])


@pytest.mark.parametrize(("kind", "value"), [("integer", 1234), ("bigint", 1234), ("float", 1234.0)])
def test_groups_in_every_number_type(kind: str, value: float) -> None:
    assert read(["1'234", "12'34"], Written(group="'"), kind) == ([value, None], [False, True])


@given(
    st.decimals(min_value=-(10**9), max_value=10**9, places=2),
    st.sampled_from([(",", "."), (".", ","), (",", " "), (".", "'"), (",", None)]),
)
def test_numbers_are_what_decimal_makes_of_them(value: Decimal, separators: tuple[str, str | None]) -> None:
    decimal, group = separators
    text = f"{value:,.2f}".translate({ord(","): group or "", ord("."): decimal})
    assert read([text], Written(decimal=decimal, group=group)) == ([value], [False])


def test_the_first_format_that_reads_the_whole_value_counts() -> None:
    formats = Written(("%d.%m.%Y", "%Y-%m-%d"))
    days = [date(2024, 12, 31), date(2024, 12, 31), None, None]
    texts: list[str | None] = ["31.12.2024", "2024-12-31", "32.12.2024", "31.12.2024 10:00"]
    assert read(texts, formats, "date") == (days, [False, False, True, True])


def test_iso_is_not_read_unless_it_is_listed() -> None:
    assert read(["2024-12-31"], Written(("%d.%m.%Y", "%d/%m/%Y")), "date") == ([None], [True])
