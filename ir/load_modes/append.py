"""The load mode `append`."""

from __future__ import annotations

from ir.load_modes.base import LoadMode

MODE = LoadMode(
    name="append",
    sentence="Adds all rows to the table.",
    runs="INSERT of the staged rows, by column name",
    needs="Nothing.",
    adds_rows=True,
)
