"""`flow errors`: rows in quarantine."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from rich.console import Console

from flowapp.cli.outcome import Outcome, show_lines, show_table
from flowapp.cli.parser import add_command, add_group, positive
from flowapp.cli.workspace import current_workspace

COLUMNS = {"id": "ID", "pipelineId": "PIPELINE", "ruleId": "RULE", "field": "FIELD", "message": "MESSAGE",
           "place": "FILE:RECORD", "disposition": "ROW WAS", "status": "STATUS"}  # fmt: skip


def add_parser(commands: Any) -> None:
    group = add_group(commands, "errors", "rows in quarantine")
    listing = add_command(group, "list", list_errors, "list violations, newest first; --json shows the rows in full")
    listing.add_argument("--pipeline", metavar="ID")
    listing.add_argument("--run", metavar="RUN")
    listing.add_argument("--rule", metavar="RULE")
    listing.add_argument("--limit", type=positive, default=50, metavar="N", help="how many (default: 50)")


def list_errors(args: Namespace) -> Outcome:
    from flowapp.pipelines.selectors import get_pipeline
    from flowapp.quarantine.selectors import list_entries
    from flowapp.runs.selectors import get_run

    workspace = current_workspace()
    entries = list_entries(
        workspace,
        pipeline=get_pipeline(workspace, args.pipeline) if args.pipeline else None,
        run=get_run(workspace, args.run) if args.run else None,
        rule=args.rule,
        limit=args.limit,
    )
    return Outcome({"errors": entries}, lambda console: _show_entries(console, entries, args.limit))


def _show_entries(console: Console, entries: list[dict[str, Any]], limit: int) -> None:
    if not entries:
        show_lines(console, ["No rejected rows here."])
        return
    rows = [{**entry, "id": str(entry["id"]), "place": f"{entry['sourceFile']}:{entry['sourceRecord']}"}
            for entry in entries]  # fmt: skip
    show_table(console, COLUMNS, rows)
    tables = ", ".join(sorted({f"{entry['table']} (connection {entry['connection']})" for entry in entries}))
    show_lines(console, ["", f"Kept in {tables}. The rows in full: --json"])
    if len(entries) == limit:
        show_lines(console, [f"There may be more: --limit {limit * 10}"])
