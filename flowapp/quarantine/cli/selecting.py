"""The arguments of `flow errors` that select rows, and the selected rows."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from flowapp.accounts.cli.workspace import current_workspace
from flowapp.cli.exits import UsageError
from flowapp.cli.parser import add_run

if TYPE_CHECKING:
    from flowapp.quarantine.models import Selection
    from flowapp.quarantine.selectors import EntryFilter


def add_filters(command: ArgumentParser) -> None:
    command.add_argument("--pipeline", metavar="ID")
    add_run(command, "--run")
    for name in ("rule", "status", "search"):
        command.add_argument(f"--{name}", metavar="TEXT" if name == "search" else name.upper())


def add_selection(command: ArgumentParser) -> None:
    command.add_argument("rows", nargs="*", metavar="ROW", help="keys of rows, or numbers of entries")
    command.add_argument("--reason", default="", metavar="TEXT", help="the reason; it is stored")
    add_filters(command)


def filters_of(args: Namespace) -> EntryFilter:
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


def selection_of(args: Namespace) -> Selection:
    from flowapp.quarantine.choosing import choose_alike, choose_by_keys, keys_of_entries
    from flowapp.runs.holds import Decider

    workspace, by = current_workspace(), Decider("the command line")
    narrowed = [name for name in ("pipeline", "run", "rule", "status", "search") if getattr(args, name)]
    if bool(args.rows) == bool(narrowed):
        raise UsageError("give rows or filters: --pipeline, --run, --rule …", command="flow errors")
    if args.rows:
        return choose_by_keys(workspace, keys_of_entries(workspace, [with_run_id(row) for row in args.rows]), by)
    return choose_alike(workspace, filters_of(args), by)


def with_run_id(row: str) -> str:
    """Return the row's key with the run's id in place of a run name such as `nyc-flights/5`."""
    from flowapp.runs.selectors import find_run

    run, _, row_id = row.partition(":")
    return f"{find_run(current_workspace(), run).pk}:{row_id}" if "/" in run else row
