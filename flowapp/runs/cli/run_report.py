"""Print a run: its row balance, rules, checks, warnings and next steps.

`document` is what `flow run --json` prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.text import Text

from flowapp.cli.exits import CANCELLED, FAILED, HELD, HOOK_FAILED, PARTIAL, show_error
from flowapp.cli.outcome import printable, show_lines, show_table
from flowapp.runs.row_balance import row_balance_of
from flowapp.runs.row_results import ROW_RESULTS
from ir.words import counted, duration_text

Document = dict[str, Any]

STATUS_BY_STATE = {
    "succeeded": 0,
    "succeeded_with_warnings": 0,
    "loaded_hook_failed": HOOK_FAILED,
    "partially_loaded": PARTIAL,
    "cancelled": CANCELLED,
    "failed": FAILED,
    "discarded": FAILED,
    "held": HELD,
}
"""Exit statuses of finished runs. A run in any other state continues elsewhere."""

_COLOURS = {
    "succeeded": "green",
    "succeeded_with_warnings": "yellow",
    "loaded_hook_failed": "red",
    "partially_loaded": "red",
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
HOOK_COLUMNS = {"id": "HOOK", "statement": "STATEMENT", "state": "STATE", "duration": "DURATION", "message": "MESSAGE"}
CHECK_COLUMNS = {
    "node": "NODE",
    "check": "CHECK",
    "subject": "OF",
    "ok": "OK",
    "observed": "OBSERVED",
    "message": "MESSAGE",
}


def show_run(console: Console, document: Document, name: str, *, nothing_new: str | None = None) -> None:
    """Print a run. `name` is its name; `nothing_new` is the reason if there was nothing to load, else None."""
    state = document["state"]
    head = f"Run {name} (version {document['version']}, id {document['run']}): "
    console.print(Text(head).append(state.replace("_", " "), style=_COLOURS.get(state, "")))
    if nothing_new is not None and "rows" not in document:
        show_lines(console, [f"Nothing to load. {nothing_new}", "Load files again with --load-again."])
    show_lines(console, _attempt_lines(document))
    if missing := document.get("missingTargets"):
        show_lines(console, [f"Not loaded: {', '.join(missing)}. To load them: flow runs retry {name}"])
    show_lines(console, [line for node in document["nodes"] for line in _node_lines(node)])
    show_lines(console, row_lines(document, name))
    show_findings(console, document)
    hooks = [{**hook, "duration": duration_text(hook["durationMs"] / 1000)} for hook in document["hooks"]]
    show_titled(console, "Hooks", HOOK_COLUMNS, hooks)
    show_lines(console, _quarantine_lines(document, name))
    show_troubles(console, document, name)


def _attempt_lines(document: Document) -> list[str]:
    return [
        f"Attempt {one['attempt']} failed at {one['failedAt'][11:19]} UTC: {one['error']['message']} "
        f"[{one['error']['code']}]"
        for one in document.get("failedAttempts", [])
    ]


def show_findings(console: Console, document: Document) -> None:
    """Print rules and checks."""
    from flowapp.runs.rule_names import rule_name
    from ir.rules import ON_FAIL_LABELS

    rules = [
        {
            **rule,
            "rule": rule_name(rule["rule"], rule["type"], rule["field"]),
            "onFail": ON_FAIL_LABELS[rule["onFail"]],
        }
        for rule in document["rules"]
    ]
    show_titled(console, "Rules", RULE_COLUMNS, rules)
    several = any("target" in check for check in document["checks"])
    show_titled(console, "Checks", CHECK_COLUMNS | ({"target": "FOR"} if several else {}), document["checks"])


def show_troubles(console: Console, document: Document, name: str) -> None:
    """Print warnings, and the error if there is one."""
    _show_warnings(console, document["warnings"])
    if document["error"]:
        show_error(console, document["error"])
    if document["state"] == "held":
        show_lines(console, [f"  flow runs approve {name}", f"  flow runs discard {name} --reason TEXT"])


def _node_lines(node: Document) -> Iterator[str]:
    """Yield the matches of joins, the rows of branches, and the row balance of a target."""
    for join in node.get("joins", ()):
        counts = f"{join['matched']:,} matched, {join['unmatched']:,} unmatched"
        yield f"{node['id']}: {join['type']} join with {join['reference']}: {counts}"
    if branches := node.get("branches"):
        shares = [f"{branch['rows']:,} to {branch['to']}" for branch in branches]
        yield f"{node['id']}: {', '.join(shares)}"
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
    """Yield the outcome of the rejected rows of a run over rejected rows, and the command that lists them."""
    from flowapp.runs.run_kinds import spec_of

    if "rows" not in document or (over_rows := spec_of(document["kind"]).over_rows) is None:
        return
    for result, n in document["rows"]["counts"].items():
        known = ROW_RESULTS.get(result)
        words = result if known is None else known.one if n == 1 else known.several
        if result == "loaded" and not over_rows.loads:
            words = "would be loaded"
        yield f"  {counted(n, 'row')} {words}"
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
        # If no target has loaded anything, no row was loaded with a warning.
        loaded = f", {warned:,} of them loaded with a warning" if targets and warned > 0 else ""
        yield ""
        yield f"Quarantine: {counted(quarantine['rows'], 'row')} in {', '.join(quarantine['tables'])}{loaded}"
        if "rows" not in document:  # rows that a replay rejects belong to the run that rejected them first
            yield f"  flow errors list --run {name}"


def _show_warnings(console: Console, warnings: list[Document]) -> None:
    for warning in warnings:
        where = f"{warning['node']}: " if warning["node"] else ""
        line = printable(f"warning: {where}{warning['message']} [{warning['code']}]")
        console.print(line, style="yellow", markup=False)
