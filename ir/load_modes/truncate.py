"""The load mode `truncate`."""

from __future__ import annotations

from ir.diagnostics import diagnose
from ir.load_modes.base import Findings, LoadMode, TargetView


def check(view: TargetView) -> Findings:
    at, found = view.at / "loadMode", view.destination
    would_do = found is None or found.replacing is None or found.replacing.strategy is not None
    if view.runs_sql and view.sources == view.targets == 1 and would_do:
        yield diagnose(
            "truncate.prefer_blue_green",
            at,
            "truncate blocks readers while it replaces the rows. blue_green does not, and also works here.",
            fixes=[[{"op": "replace", "path": str(at), "value": "blue_green"}]],
        )


MODE = LoadMode(
    name="truncate",
    sentence="Replaces all rows on every run. Files of a folder are loaded all together, if one of them is new.",
    runs="TRUNCATE and INSERT in one transaction; a reader whose snapshot is older sees the table empty",
    needs="The right to truncate the table.",
    fields=frozenset({"fail_on_empty_source"}),
    replaces_all_rows=True,
    check=check,
)
