"""`flow errors`: rejected rows. This module decides about them, exports and purges them."""

from __future__ import annotations

import shutil
import sys
from argparse import Namespace
from itertools import chain, islice
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, Any

from rich.console import Console

from flowapp.accounts.cli.workspace import current_workspace
from flowapp.cli.exits import UsageError
from flowapp.cli.outcome import Outcome, show_lines, text_outcome
from flowapp.cli.parser import add_command, add_group, add_run, positive
from flowapp.quarantine.cli.listing import list_errors, show_results, show_row
from flowapp.quarantine.cli.selecting import add_filters, add_selection, filters_of, selection_of
from flowapp.runs.cli.run_report import STATUS_BY_STATE, row_lines
from ir.words import counted

if TYPE_CHECKING:
    from flowapp.runs.models import Run, RunKind

MEMORY_BYTES = 16 << 20
"""The size up to which an export is held in memory; a larger one is written to a temporary file."""


def add_parser(commands: Any) -> None:
    group = add_group(commands, "errors", "rows in quarantine")
    listing = add_command(group, "list", list_errors, "list violations, newest first; --json shows complete rows")
    add_filters(listing)
    listing.add_argument("--limit", type=positive, default=50, metavar="N", help="how many (default: 50)")
    showing = add_command(group, "show", show_row, "show a complete row with every rule that it failed")
    showing.add_argument("row", metavar="ROW", help="its key, or the number of one of its entries")
    fixing = add_command(
        group,
        "fix",
        fix_row,
        "edit values of a row, or compute a value for many rows; original values are not changed",
    )
    add_selection(fixing)
    fixing.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE", help="a value; may be repeated")
    fixing.add_argument(
        "--null", action="append", default=[], metavar="FIELD", help="set a field to NULL; may be repeated"
    )
    fixing.add_argument("--field", dest="column", metavar="FIELD", help="the field that --expression computes")
    fixing.add_argument("--expression", metavar="EXPR", help="a Spark SQL expression, such as trim(name)")
    fixing.add_argument("--replace-typed", action="store_true", help="also replace manually edited values")
    ignoring = add_command(group, "ignore", ignore_rows, "ignore rows")
    add_selection(ignoring)
    reopening = add_command(group, "reopen", reopen_rows, "reopen ignored rows")
    add_selection(reopening)
    checking = add_command(group, "recheck", recheck, "show which rows still fail, without loading")
    add_selection(checking)
    replaying = add_command(group, "replay", replay, "load rows that pass the current rules, each once")
    add_selection(replaying)
    replaying.add_argument("--overwrite", action="store_true", help="let rows replace newer rows with the same key")
    replaying.add_argument("--detach", action="store_true", help="queue it for a worker and return")
    results = add_command(group, "results", show_results, "show the outcome of each row of a replay, loaded rows last")
    add_run(results, what="the replay")
    results.add_argument("--result", metavar="RESULT", help="only rows with this outcome, such as fails")
    results.add_argument("--limit", type=positive, default=50, metavar="N", help="how many (default: 50)")
    exporting = add_command(group, "export", export, "export entries with their values to standard output")
    add_filters(exporting)
    exporting.add_argument("--format", choices=("csv", "json"), default="csv")
    purging = add_command(group, "purge", purge_rows, "delete old entries permanently, whatever their status")
    add_filters(purging)
    purging.add_argument(
        "--older-than-days", type=int, required=True, metavar="N", help="only entries that are at least N days old"
    )
    purging.add_argument("--reason", required=True, metavar="TEXT", help="the reason; it is stored")
    purging.add_argument("--dry-run", action="store_true", help="count the entries, delete nothing")


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

    selection = selection_of(args)
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

    selection, detach = selection_of(args), getattr(args, "detach", False)
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
    with shown_run(selection.pipeline.slug) as shown:
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


# --- export and purge ---------------------------------------------------------------------------------------------


def export(args: Namespace) -> Outcome:
    from flowapp.quarantine.exporting import FORMATS, Sending, fields_of, list_all
    from flowapp.runs.holds import Decider

    workspace, filters = current_workspace(), filters_of(args)
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

    workspace, filters = current_workspace(), filters_of(args)
    if args.dry_run:
        counted = rows_to_purge(workspace, filters, args.older_than_days)
        text = f"{counted.entries:,} entries would be purged."
        if not counted.is_whole:
            text = f"At least {text} The exact number is unknown because counting took too long."
        return text_outcome(counted_document(counted), text)
    n = purge(workspace, filters, args.older_than_days, Decider("the command line"), args.reason).entries
    return text_outcome({"entries": n}, f"{n:,} entries purged.")
