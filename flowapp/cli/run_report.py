"""How a run is told to people: its numbers as an equation, rules, checks, warnings and what to do next.

`document` is what `flow run --json` prints.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.text import Text

from flowapp.cli.exits import CANCELLED, FAILED, HELD, HOOK_FAILED, show_error
from flowapp.cli.outcome import printable, show_lines, show_table
from flowapp.runs.row_balance import row_balance_of
from ir.words import counted

Document = dict[str, Any]

STATUS_BY_STATE = {
    "succeeded": 0,
    "succeeded_with_warnings": 0,
    "loaded_hook_failed": HOOK_FAILED,
    "cancelled": CANCELLED,
    "failed": FAILED,
    "discarded": FAILED,
    "held": HELD,
}
"""Exit statuses of runs that have ended. Any other state means that it goes on elsewhere."""

_COLOURS = {
    "succeeded": "green",
    "succeeded_with_warnings": "yellow",
    "loaded_hook_failed": "red",
    "failed": "red",
    "held": "yellow",
}

RULE_COLUMNS = {
    "node": "NODE",
    "rule": "RULE",
    "type": "TYPE",
    "field": "FIELD",
    "onFail": "ON FAIL",
    "violations": "VIOLATIONS",
    "evaluated": "OF ROWS",
}
HOOK_COLUMNS = {"id": "HOOK", "statement": "WHAT IT RUNS", "state": "STATE", "durationMs": "MS", "message": "MESSAGE"}
CHECK_COLUMNS = {
    "node": "NODE",
    "check": "CHECK",
    "subject": "OF",
    "ok": "OK",
    "observed": "OBSERVED",
    "message": "MESSAGE",
}

ROW_RESULTS = {
    "loaded": ("loaded", "loaded"),
    "fails": ("still fails a rule", "still fail a rule"),
    "exists": ("has a key that the table holds already", "have a key that the table holds already"),
    "older": ("is older than what the table holds for its key", "are older than what the table holds for their key"),
    "read_again": (
        "was read again by a later run, which did not reject it",
        "were read again by a later run, which did not reject them",
    ),
    "superseded": ("has a later run that stands for it", "have a later run that stands for them"),
    "filtered": ("is filtered away", "are filtered away"),
    "already": ("was replayed before", "were replayed before"),
    "ignored": ("is ignored", "are ignored"),
    "was_loaded": (
        "was loaded by its own run, in spite of the rule",
        "were loaded by their own run, in spite of the rule",
    ),
    "not_loaded": ("belongs to a run that loaded nothing", "belong to a run that loaded nothing"),
    "replaced": ("belongs to a load that a later one has replaced", "belong to a load that a later one has replaced"),
    "gone": ("is gone", "are gone"),
    "changed": ("was changed meanwhile", "were changed meanwhile"),
    "repeated": (
        "was rejected by several runs, and is loaded once",
        "were rejected by several runs, and are loaded once",
    ),
    "unfit": ("cannot be replayed", "cannot be replayed"),
    "mended": ("fixed", "fixed"),
    "unchanged": (
        "had the value that the expression gives, and stayed as it was",
        "had the value that the expression gives, and stayed as they were",
    ),
    "typed": (
        "holds what somebody typed by hand, and stayed as it was (--replace-typed)",
        "hold what somebody typed by hand, and stayed as they were (--replace-typed)",
    ),
}
"""What became of rejected rows in words: of one row, and of several."""


def show_run(console: Console, document: Document, name: str, *, nothing_new: str | None = None) -> None:
    """`name` is what people call the run, `nothing_new` the reason why there was nothing to load, if so."""
    state = document["state"]
    head = f"Run {name} (version {document['version']}, id {document['run']}): "
    console.print(Text(head).append(state.replace("_", " "), style=_COLOURS.get(state, "")))
    if nothing_new is not None and "rows" not in document:
        show_lines(console, [f"Nothing to load. {nothing_new}", "Load files again with --load-again."])
    show_lines(console, [line for node in document["nodes"] for line in _node_lines(node)])
    show_lines(console, row_lines(document, name))
    show_findings(console, document)
    show_titled(console, "Hooks", HOOK_COLUMNS, document["hooks"])
    show_lines(console, _quarantine_lines(document, name))
    show_troubles(console, document, name)


def show_findings(console: Console, document: Document) -> None:
    """Rules and checks."""
    from flowapp.runs.rule_names import rule_name

    rules = [{**rule, "rule": rule_name(rule["rule"], rule["type"], rule["field"])} for rule in document["rules"]]
    show_titled(console, "Rules", RULE_COLUMNS, rules)
    several = any("target" in check for check in document["checks"])
    show_titled(console, "Checks", CHECK_COLUMNS | ({"target": "FOR"} if several else {}), document["checks"])


def show_troubles(console: Console, document: Document, name: str) -> None:
    """Warnings, and the error if there is one."""
    _show_warnings(console, document["warnings"])
    if document["error"]:
        show_error(console, document["error"])
    if document["state"] == "held":
        show_lines(console, [f"  flow runs approve {name}", f"  flow runs discard {name} --reason TEXT"])


def _node_lines(node: Document) -> Iterator[str]:
    """The equation of a target: all rows that were read are accounted for."""
    if node.get("rowsLoaded") is None:
        return
    yield f"{node['id']}: {row_balance_of(node)}"
    parts = [
        f"{node[f'rows{name}']:,} {name.lower()}"
        for name in ("Inserted", "Updated", "Unchanged")
        if node.get(f"rows{name}") is not None
    ]
    if parts and node["rowsLoaded"]:
        yield f"  of the loaded rows: {', '.join(parts)}"


def row_lines(document: Document, name: str) -> Iterator[str]:
    """What became of the rejected rows that a run was about, and where each of them is told."""
    from flowapp.runs.purposes import PURPOSES

    if "rows" not in document or (over_rows := PURPOSES[document["purpose"]].over_rows) is None:
        return
    for result, n in document["rows"]["counts"].items():
        one, several = ROW_RESULTS.get(result, (result, result))
        words = "would be loaded" if result == "loaded" and not over_rows.loads else None
        yield f"  {counted(n, 'row')} {words or (one if n == 1 else several)}"
    if over_rows.loads:
        yield f"  Row by row: flow errors results {name}"


def show_titled(console: Console, title: str, columns: dict[str, str], rows: list[Document]) -> None:
    if rows:
        console.print(f"\n{title}", style="bold")
        show_table(console, columns, rows)


def _quarantine_lines(document: Document, name: str) -> Iterator[str]:
    quarantine = document["quarantine"]
    if quarantine["rows"]:
        targets = [node for node in document["nodes"] if node.get("rowsLoaded") is not None]
        warned = quarantine["rows"] - sum(node.get("rowsRejected") or 0 for node in targets)
        # Where no target has loaded anything, rows were kept that neither a rule rejected nor anybody loaded.
        loaded = f", {warned:,} of which were loaded with a warning" if targets and warned > 0 else ""
        yield ""
        yield f"Quarantine: {counted(quarantine['rows'], 'row')} in {', '.join(quarantine['tables'])}{loaded}"
        if "rows" not in document:  # those of a replay stay with the run that rejected them
            yield f"  flow errors list --run {name}"


def _show_warnings(console: Console, warnings: list[Document]) -> None:
    for warning in warnings:
        where = f"{warning['node']}: " if warning["node"] else ""
        line = printable(f"warning: {where}{warning['message']} [{warning['code']}]")
        console.print(line, style="yellow", markup=False)
