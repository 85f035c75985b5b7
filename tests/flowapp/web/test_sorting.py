"""Sorting of lists by the address."""

from __future__ import annotations

import pytest

from flowapp.web.sorting import Column, read_sorting

COLUMNS = (Column("queued", ("-queued_at", "id"), starts_high=True), Column("name", ("name", "id")))


@pytest.mark.parametrize(
    ("text", "order", "aria"),
    [
        ("", ("-queued_at", "id"), "descending"),
        ("queued", ("-queued_at", "id"), "descending"),
        ("-queued", ("queued_at", "-id"), "ascending"),
        ("name", ("name", "id"), "none"),
        ("nonsense", ("-queued_at", "id"), "descending"),
    ],
)
def test_an_address_names_the_column_and_its_direction(text, order, aria):
    sorting = read_sorting(text, COLUMNS)
    assert (sorting.order, sorting.aria_of("queued")) == (order, aria)


def test_a_header_asks_for_the_usual_order_first_and_then_for_the_opposite():
    assert read_sorting("", COLUMNS).next_of("name") == "name"
    assert read_sorting("name", COLUMNS).next_of("name") == "-name"
    assert read_sorting("-name", COLUMNS).next_of("name") == "name"
