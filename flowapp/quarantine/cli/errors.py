"""`flow errors`: list rejected rows, and decide about them."""

from __future__ import annotations

import shutil
import sys
from argparse import ArgumentParser, Namespace
from itertools import chain, islice
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, Any

from rich.console import Console

from flowapp.accounts.cli.workspace import current_workspace
from flowapp.cli.exits import UsageError
from flowapp.cli.outcome import Outcome, show_lines, show_table, text_outcome
from flowapp.cli.parser import add_command, add_group, add_run, positive
from flowapp.runs.cli.run_report import ROW_RESULTS, STATUS_BY_STATE, row_lines
from ir.words import counted

if TYPE_CHECKING:
    from flowapp.quarantine.models import Selection
    from flowapp.quarantine.results import RowResults
    from flowapp.quarantine.selectors import EntryFilter
    from flowapp.runs.models import Run, RunKind

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
MEMORY_BYTES = 16 << 20
"""The size up to which an export is held in memory; a larger one is written to a temporary file."""


def add_parser(commands: Any) -> None:
    group = add_group(commands, "errors", "rows in quarantine")
    listing = add_command(group, "list", list_errors, "list violations, newest first; --json shows complete rows")
    _add_filters(listing)
    listing.add_argument("--limit", type=positive, default=50, metavar="N", help="how many (default: 50)")
    showing = add_command(group, "show", show_row, "show a complete row with every rule that it failed")
    showing.add_argument("row", metavar="ROW", help="its key, or the number of one of its entries")
    fixing = add_command(
        group,
        "fix",
        fix_row,
        "edit values of a row, or compute a value for many rows; original values are not changed",
    )
    _chosen(fixing)
    fixing.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE", help="a value; may be repeated")
    fixing.add_argument(
        "--null", action="append", default=[], metavar="FIELD", help="set a field to NULL; may be repeated"
    )
    fixing.add_argument("--field", dest="column", metavar="FIELD", help="the field that --expression computes")
    fixing.add_argument("--expression", metavar="EXPR", help="a Spark SQL expression, such as trim(name)")
    fixing.add_argument("--replace-typed", action="store_true", help="also replace manually edited values")
    ignoring = add_command(group, "ignore", ignore_rows, "ignore rows")
    _chosen(ignoring)
    reopening = add_command(group, "reopen", reopen_rows, "reopen ignored rows")
    _chosen(reopening)
    checking = add_command(group, "recheck", recheck, "show which rows still fail, without loading")
    _chosen(checking)
    replaying = add_command(group, "replay", replay, "load rows that pass the current rules, each once")
    _chosen(replaying)
    replaying.add_argument("--overwrite", action="store_true", help="let rows replace newer rows with the same key")
    replaying.add_argument("--detach", action="store_true", help="queue it for a worker and return")
    results = add_command(group, "results", show_results, "show the outcome of each row of a replay, loaded rows last")
    add_run(results, what="the replay")
    results.add_argument("--result", metavar="RESULT", help="only rows with this outcome, such as fails")
    results.add_argument("--limit", type=positive, default=50, metavar="N", help="how many (default: 50)")
    exporting = add_command(group, "export", export, "export entries with their values to standard output")
    _add_filters(exporting)
    exporting.add_argument("--format", choices=("csv", "json"), default="csv")
    purging = add_command(group, "purge", purge_rows, "delete old entries permanently, whatever their status")
    _add_filters(purging)
    purging.add_argument(
        "--older-than-days", type=int, required=True, metavar="N", help="only entries that are at least N days old"
    )
    purging.add_argument("--reason", required=True, metavar="TEXT", help="the reason; it is stored")
    purging.add_argument("--dry-run", action="store_true", help="count the entries, delete nothing")


def _add_filters(command: ArgumentParser) -> None:
    command.add_argument("--pipeline", metavar="ID")
    add_run(command, "--run")
    for name in ("rule", "status", "search"):
        command.add_argument(f"--{name}", metavar="TEXT" if name == "search" else name.upper())


def _chosen(command: ArgumentParser) -> None:
    command.add_argument("rows", nargs="*", metavar="ROW", help="keys of rows, or numbers of entries")
    command.add_argument("--reason", default="", metavar="TEXT", help="the reason; it is stored")
    _add_filters(command)


def _filters(args: Namespace) -> EntryFilter:
    from flowapp.pipelines.selectors import get_pipeline
    from flowapp.quarantine.selectors import EntryFilter
    from flowapp.runs.selectors import find_run

    workspace = current_workspace()
    return EntryFilter(
        pipeline=get_pipeline(workspace, args.pipeline) if args.pipeline else None,
        run=find_run(workspace, args.run) if args.run else None,
        rule=args.rule,
        status=args.status,
        search=args.search,
    )


def _selection(args: Namespace) -> Selection:
    from flowapp.quarantine.choosing import choose_alike, choose_by_keys, keys_of_entries
    from flowapp.runs.holds import Decider

    workspace, by = current_workspace(), Decider("the command line")
    narrowed = [name for name in ("pipeline", "run", "rule", "status", "search") if getattr(args, name)]
    if bool(args.rows) == bool(narrowed):
        raise UsageError("give rows or filters: --pipeline, --run, --rule …", command="flow errors")
    if args.rows:
        return choose_by_keys(workspace, keys_of_entries(workspace, [_by_id(row) for row in args.rows]), by)
    return choose_alike(workspace, _filters(args), by)


def _by_id(row: str) -> str:
    """Return the row's key with the run's id in place of a run name such as `nyc-flights/5`."""
    from flowapp.runs.selectors import find_run

    run, _, row_id = row.partition(":")
    return f"{find_run(current_workspace(), run).pk}:{row_id}" if "/" in run else row


# --- list ---------------------------------------------------------------------------------------------------------


def list_errors(args: Namespace) -> Outcome:
    from flowapp.quarantine.selectors import page_filtered
    from flowapp.quarantine.values import entry_document

    found = page_filtered(current_workspace(), _filters(args), limit=args.limit)
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
    key = key_of_entry(workspace, _by_id(args.row))
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


# --- decide -------------------------------------------------------------------------------------------------------


def fix_row(args: Namespace) -> Outcome:
    from flowapp.runs.models import RunKind

    if args.expression:
        return _run_over(
            args, RunKind.FIX, column=args.column or "", expression=args.expression, replace_typed=args.replace_typed
        )
    cells: dict[str, str | None] = dict.fromkeys(args.null)
    for pair in args.set:
        name, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"{pair!r} is not of the form FIELD=VALUE", command="flow errors fix")
        cells[name] = value
    if not cells:
        raise UsageError(
            "give the new value: --set FIELD=VALUE, --null FIELD, or --field with --expression",
            command="flow errors fix",
        )
    return _decide(args, "fix", cells)


def ignore_rows(args: Namespace) -> Outcome:
    return _decide(args, "ignore")


def reopen_rows(args: Namespace) -> Outcome:
    return _decide(args, "reopen")


def _decide(args: Namespace, verb: Any, cells: dict[str, str | None] | None = None) -> Outcome:
    from flowapp.quarantine.deciding import decide, keys_of
    from flowapp.runs.holds import Decider

    selection = _selection(args)
    by_row = None if cells is None else dict.fromkeys(keys_of(selection), cells)
    done = decide(selection, verb, Decider("the command line"), args.reason, by_row)
    left = f" {counted(done.excluded, 'row')} unchanged: their status does not allow it." if done.excluded else ""
    return text_outcome(
        {"changed": done.changed, "excluded": done.excluded}, f"{counted(done.changed, 'row')} changed.{left}"
    )


def recheck(args: Namespace) -> Outcome:
    from flowapp.runs.models import RunKind

    return _run_over(args, RunKind.RECHECK)


def replay(args: Namespace) -> Outcome:
    from flowapp.quarantine.replaying import ALL
    from flowapp.runs.models import RunKind

    return _run_over(args, RunKind.REPLAY, overwrite=ALL if args.overwrite else ())


def _run_over(args: Namespace, kind: RunKind, **options: Any) -> Outcome:
    from flowapp.quarantine.inline import rows_inline
    from flowapp.quarantine.replaying import ask_for_runs
    from flowapp.runs.cli.progress import shown_run
    from flowapp.runs.holds import Decider
    from flowapp.runs.models import Trigger
    from flowapp.runs.serializers import run_json

    selection, detach = _selection(args), getattr(args, "detach", False)
    runs = ask_for_runs(
        kind, selection, Trigger.CLI, Decider("the command line"), reason=args.reason, send=detach, **options
    )
    if detach:
        names = [run.name for run in runs]
        return text_outcome(
            {"runs": [str(run.pk) for run in runs], "rows": selection.rows},
            f"Queued for a worker: {', '.join(names)}.",
            f"To follow it: flow runs show {names[0]}",
        )
    with shown_run(selection.pipeline.slug, kind) as shown:
        runs = rows_inline(runs, shown.engine)
    documents = [run_json(run, sees_values=True) for run in runs]
    status = max(STATUS_BY_STATE[document["state"]] for document in documents)
    return Outcome({"rows": selection.rows, "runs": documents}, lambda console: _show_runs(console, runs), status)


def _show_runs(console: Console, runs: list[Run]) -> None:
    from flowapp.runs.rule_names import rule_name
    from flowapp.runs.serializers import run_json

    for run in runs:
        document = run_json(run, sees_values=True)
        show_lines(console, [f"{run.get_kind_display()} {run.name}: {run.state}", *row_lines(document, run.name)])
        if run.error_code:
            show_lines(console, [f"  {run.error_code}: {run.error_message}", f"  {run.error_hint}"])
        for rule in document["rules"]:
            if rule["violations"]:
                name = rule_name(rule["rule"], rule["type"], rule["field"])
                show_lines(console, [f"  rule {name}: {counted(rule['violations'], 'row')}"])


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
            "result": ROW_RESULTS.get(row["result"], (row["result"],))[0],
            "rules": ", ".join(names.get(rule, rule) for rule in row["rules"] if row["result"] == "fails"),
            "status": row["status"] or "purged",
        }
        for row in rows
    ]
    show_table(console, RESULT_COLUMNS, shown)
    if found.next:
        show_lines(console, [f"There are more: --limit {limit * 10}"])


# --- export and purge ---------------------------------------------------------------------------------------------


def export(args: Namespace) -> Outcome:
    from flowapp.quarantine.exporting import FORMATS, Sending, fields_of, list_all
    from flowapp.runs.holds import Decider

    workspace, filters = current_workspace(), _filters(args)
    entries = list_all(workspace, filters)
    # Query before recording: without a response from the databases there is no export.
    first, fields = list(islice(entries, 1)), fields_of(workspace, filters)
    sending = Sending(workspace, filters, args.format, Decider("the command line"))
    found = sending.count(chain(first, entries))
    if getattr(args, "json", False):
        shown = [{k: v for k, v in entry.items() if k != "tenant"} for entry in sending.note(found)]
        return Outcome({"errors": shown}, lambda console: None)

    # Read while the databases are open. The console would wrap lines, so it is not used for output.
    buffer = SpooledTemporaryFile(max_size=MEMORY_BYTES, mode="w+", newline="")  # noqa: SIM115 - `_copy_out` closes it
    buffer.writelines(sending.note(FORMATS[args.format][0](found, fields)))
    return Outcome({}, lambda console: _copy_out(buffer))


def _copy_out(buffer: IO[str]) -> None:
    with buffer:
        buffer.seek(0)
        shutil.copyfileobj(buffer, sys.stdout)
    sys.stdout.flush()


def purge_rows(args: Namespace) -> Outcome:
    from flowapp.quarantine.purging import counted_document, purge, rows_to_purge
    from flowapp.runs.holds import Decider

    workspace, filters = current_workspace(), _filters(args)
    if args.dry_run:
        counted = rows_to_purge(workspace, filters, args.older_than_days)
        text = f"{counted.entries:,} entries would be purged."
        if not counted.is_whole:
            text = f"At least {text} The exact number is unknown because counting took too long."
        return text_outcome(counted_document(counted), text)
    n = purge(workspace, filters, args.older_than_days, Decider("the command line"), args.reason).entries
    return text_outcome({"entries": n}, f"{n:,} entries purged.")
