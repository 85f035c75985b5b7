"""The load mode `blue_green`."""

from __future__ import annotations

from ir.diagnostics import Skipped, diagnose
from ir.load_modes.base import Findings, LoadMode, TargetView


def check(view: TargetView) -> Findings:
    """Check whether the dependencies of the table allow its rows to be replaced, and in which way."""
    at, found = view.at / "loadMode", view.destination
    if not view.runs_sql:
        return
    if not view.looked or (found is not None and found.replacing is None):
        yield Skipped("blue_green.not_possible", at, "what depends on the table is unknown without access to it")
    elif found is not None and found.replacing is not None and found.replacing.strategy != "swap":
        code = "blue_green.in_place" if found.replacing.strategy else "blue_green.not_possible"
        yield diagnose(code, at, found.replacing.sentence(f"{found.schema}.{found.table}"))


MODE = LoadMode(
    name="blue_green",
    sentence="Replaces all rows at once: readers see the old ones, then the new ones. Files of a folder are loaded all "
    "together, once one of them is new.",
    runs="A new table replaces the old one with all its dependents. If this would lose any of them: "
    "DELETE and INSERT. A reader with an older snapshot (REPEATABLE READ, pg_dump) then sees the table empty; a BEFORE "
    "trigger that reads the table sees its old rows",
    needs="A table without partitions and inheritance, and the rights of its owner for a swap.",
    fields=frozenset({"fail_on_empty_source"}),
    replaces_all_rows=True,
    check=check,
)
