"""The load mode `blue_green`."""

from __future__ import annotations

from ir.load_modes.base import LoadMode

MODE = LoadMode(
    name="blue_green",
    sentence="Replaces all rows in one swap that never blocks readers.",
    runs="A sibling table is filled, then names change in one transaction",
    needs="A table whose dependents can be carried over.",
    fields=frozenset({"fail_on_empty_source"}),
    replaces_all_rows=True,
)
