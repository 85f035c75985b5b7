"""`flow errors list`, `show` and `results`: print rejected rows and the results of replays."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from rich.console import Console

from flowapp.accounts.cli.workspace import current_workspace
from flowapp.cli.outcome import Outcome, show_lines, show_table
from flowapp.quarantine.cli.selecting import filters_of, with_run_id
from flowapp.runs.row_results import ROW_RESULTS
from ir.words import counted

if TYPE_CHECKING:
    from flowapp.quarantine.results import RowResults

COLUMNS = {
    "id": "ID",
    "run": "RUN",
    "ruleName": "RULE",
    "field": "FIELD",
    "message": "MESSAGE",
    "place": "FILE:RECORD",
    "disposition": "OUTCOME",
    "status": "STATUS",
}
ENTRY_COLUMNS = {
    "ruleName": "RULE",
    "ruleId": "RULE ID",
    "nodeId": "NODE",
    "field": "FIELD",
    "message": "MESSAGE",
    "severity": "ON FAIL",
}
CELL_COLUMNS = {"name": "FIELD", "value": "VALUE", "fixed": "FIXED"}
RESULT_COLUMNS = {
    "row": "ROW",
    "place": "FILE:RECORD",
    "result": "OUTCOME",
    "rules": "BY RULE",
    "status": "IS NOW",
}


def list_errors(args: Namespace) -> Outcome:
    from flowapp.quarantine.selectors import page_filtered
    from flowapp.quarantine.values import entry_document

    found = page_filtered(current_workspace(), filters_of(args), limit=args.limit)
    entries = [entry_document(entry, "admin") for entry in found.entries]
    document = {"errors": entries, **({"partial": True} if found.is_partial else {})}
    return Outcome(document, lambda console: _show_entries(console, entries, args.limit, found.is_partial))


def _show_entries(console: Console, entries: list[dict[str, Any]], limit: int, is_partial: bool) -> None:
    if not entries:
        show_lines(console, ["No rejected rows." if not is_partial else "No matches among the newest entries."])
        return
    names = _rule_names(entries)
    runs = _run_names(entries)
    rows = [
        {
            **entry,
            "id": str(entry["id"]),
            "run": runs.get(entry["runId"], entry["runId"]),
            "ruleName": names.get(entry["ruleId"], entry["ruleId"]),
            "place": f"{entry['sourceFile']} record {entry['sourceRecord']}",
        }
        for entry in entries
    ]
    show_table(console, COLUMNS, rows)
    tables = ", ".join(sorted({f"{entry['table']} (connection {entry['connection']})" for entry in entries}))
    show_lines(console, ["", f"Stored in {tables}. For a complete row: flow errors show ID"])
    if is_partial:
        show_lines(console, ["The search did not reach the oldest entries. Filter by --run or --rule."])
    elif len(entries) == limit:
        show_lines(console, [f"There may be more: --limit {limit * 10}"])


def _rule_names(entries: list[dict[str, Any]]) -> dict[str, str]:
    """Return names for rules without an id of their own, from type and field. `--rule` accepts ids, which `flow errors
    show` prints."""
    from flowapp.runs.rule_names import names_of

    return names_of(current_workspace(), {e["runId"] for e in entries}, {e["ruleId"] for e in entries})


def _run_names(entries: list[dict[str, Any]]) -> dict[str, str]:
    from flowapp.runs.models import Run

    runs = Run.objects.filter(pk__in={e["runId"] for e in entries}).select_related("pipeline")
    return {str(run.pk): run.name for run in runs}


def show_row(args: Namespace) -> Outcome:
    from flowapp.quarantine.choosing import key_of_entry
    from flowapp.quarantine.selectors import list_entries_of_row
    from flowapp.quarantine.values import entry_document
    from flowapp.runs.load_units.selectors import line_of
    from flowapp.runs.selectors import get_run
    from ir.errors import FlowError

    workspace = current_workspace()
    key = key_of_entry(workspace, with_run_id(args.row))
    run_id, _, row_id = key.partition(":")
    run = get_run(workspace, run_id)
    entries = list_entries_of_row(workspace, run, row_id)
    if not entries:
        raise FlowError(
            "errors.unknown",
            f"Unknown rejected row {args.row!r} here.",
            hint="`flow errors list` shows the newest rows.",
        )
    documents = [entry_document(entry, "admin") for entry in entries]
    line = line_of(run, documents[0]["sourceFile"], documents[0]["sourceRecord"])
    return Outcome(
        {"row": key, "line": line, "entries": documents}, lambda console: _show_row(console, documents, line)
    )


def _entry_line(entry: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    from ir.rules import ON_FAIL_LABELS

    named = names.get(entry["ruleId"], entry["ruleId"])
    return {**entry, "ruleName": named, "severity": ON_FAIL_LABELS[entry["severity"]]}


def _show_row(console: Console, entries: list[dict[str, Any]], line: int | None) -> None:
    first = entries[0]
    position = f"{first['sourceFile']}, record {first['sourceRecord']}{f' (line {line})' if line else ''}"
    run = _run_names(entries).get(first["runId"], first["runId"])
    state = f"outcome {first['disposition']}; status {first['status']}"
    show_lines(console, [f"Row {first['key']}", f"Run {run}; {position}; {state}", ""])
    names = _rule_names(entries)
    show_table(console, ENTRY_COLUMNS, [_entry_line(e, names) for e in entries])
    fixed = first["fixedRow"] or {}
    cells = [
        {"name": name, "value": value, "fixed": fixed[name] if name in fixed and fixed[name] != value else ""}
        for name, value in first["row"].items()
    ]
    show_lines(console, [""])
    show_table(console, CELL_COLUMNS, cells)


def show_results(args: Namespace) -> Outcome:
    from flowapp.api.serializers import represent_all
    from flowapp.quarantine.results import page_results
    from flowapp.quarantine.serializers import RowResultSerializer
    from flowapp.runs.rule_names import names_of
    from flowapp.runs.selectors import find_run

    workspace = current_workspace()
    run = find_run(workspace, args.run)
    found = page_results(run, result=args.result, limit=args.limit)
    rows = represent_all(RowResultSerializer, found.rows)
    names = names_of(workspace, [str(run.pk)], {rule for row in rows for rule in row["rules"]})
    document = {"run": str(run.pk), "counts": found.counted, "listed": found.listed, "results": rows}
    return Outcome(document, lambda console: _show_results(console, found, rows, names, args.limit))


def _show_results(
    console: Console, found: RowResults, rows: list[dict[str, Any]], names: dict[str, str], limit: int
) -> None:
    if found.unlisted:
        show_lines(
            console,
            [
                f"The outcome is no longer stored for {counted(found.unlisted, 'row')} that the run "
                "has counted: it is too long ago."
            ],
        )
    if not rows:
        show_lines(console, ["No such rows."])
        return
    shown = [
        {
            "row": row["key"] or f"entry {row['id']}",
            "place": f"{row['sourceFile']} record {row['sourceRecord']}",
            "result": ROW_RESULTS[row["result"]].one if row["result"] in ROW_RESULTS else row["result"],
            "rules": ", ".join(names.get(rule, rule) for rule in row["rules"] if row["result"] == "fails"),
            "status": row["status"] or "purged",
        }
        for row in rows
    ]
    show_table(console, RESULT_COLUMNS, shown)
    if found.next:
        show_lines(console, [f"There are more: --limit {limit * 10}"])
