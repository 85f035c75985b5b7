"""Print a preview: the row balance of each target, and the columns and rows that change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console

from flowapp.cli.outcome import show_lines
from flowapp.runs.cli.run_report import show_findings, show_titled, show_troubles
from flowapp.runs.row_balance import effect_words, row_balance_of

Document = dict[str, Any]

COLUMNS = {"column": "COLUMN", "rows": "ROWS CHANGED"}
SAMPLES = {"key": "KEY", "column": "COLUMN", "before": "BEFORE", "after": "AFTER"}


def show_preview(console: Console, document: Document, name: str, *, nothing_new: str | None = None) -> None:
    state = "nothing was changed" if document["state"].startswith("succeeded") else document["state"]
    show_lines(console, [f"Preview of {document['pipeline']} (version {document['version']}): {state}"])
    if nothing_new is not None:
        show_lines(console, [f"A run would load nothing. {nothing_new}".rstrip()])
    nodes = {node["id"]: node for node in document["nodes"]}
    for effect in document["effects"]:
        show_lines(console, _lines(effect, nodes[effect["node"]]))
        _show_changes(console, effect)
    show_findings(console, document)
    show_troubles(console, document, name)


def _lines(effect: Document, node: Document) -> Iterator[str]:
    yield ""
    yield f"{effect['node']}: {row_balance_of(node)}"
    where = f"{effect['table']} (a new table)" if effect["isNewTable"] else effect["table"]
    yield f"  {where}: {effect_words(effect)}"
    yield from (f"  A run would require approval: {reason}" for reason in effect["heldFor"])
    if keys := effect["keys"]:
        names = ("new", "changed", "same", *(("older",) if keys["older"] else ()), "gone")
        counts = ", ".join(f"{keys[name]:,} {name}" for name in names)
        yield f"  keys ({', '.join(keys['key'])}): {counts}"


def _show_changes(console: Console, effect: Document) -> None:
    columns = (effect["keys"] or {}).get("changedColumns", {})
    show_titled(console, "Columns", COLUMNS, [{"column": name, "rows": rows} for name, rows in columns.items()])
    show_titled(console, "Rows that would change, the first", SAMPLES, list(_samples(effect)))


def _samples(effect: Document) -> Iterator[dict[str, str | None]]:
    for sample in effect["samples"] or ():
        key = ", ".join(f"{name}={value}" for name, value in sample["key"].items())
        for column, (before, after) in sample["changes"].items():
            yield {"key": key, "column": column, "before": before, "after": after}
