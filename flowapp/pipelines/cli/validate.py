"""`flow validate`: diagnostics of a document. Without --online it needs no database and starts at once."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from rich.console import Console

from flowapp.cli.diagnostics import document_of, invalid, show_diagnostics
from flowapp.cli.outcome import Outcome, show_lines
from flowapp.cli.parser import add_command
from flowapp.pipelines.cli.documents import InvalidCompiled, parse_offline, read_complete
from ir.diagnostics import InvalidPipeline

if TYPE_CHECKING:
    from ir.destinations import Destinations
    from ir.parse import Parsed


def add_parser(commands: Any) -> None:
    validate = add_command(commands, "validate", validate_file, "validate a document", needs_database=False)
    validate.add_argument("file", metavar="FILE", help="a .json or .toml file, or - for standard input")
    validate.add_argument("--online", action="store_true", help="also check the target tables")


def validate_file(args: Namespace) -> Outcome:
    try:
        content, syntax = read_complete(args.file)
        parsed = parse_offline(content, syntax)
        if args.online:
            parsed = parse_offline(content, syntax, _look(parsed))
    except InvalidCompiled as error:
        return invalid(error, error.file)
    except InvalidPipeline as error:
        return invalid(error, args.file)
    return Outcome(document_of(parsed.warnings, parsed.skipped), lambda console: _show(console, parsed, args))


def _look(parsed: Parsed) -> Destinations:
    from flowapp.cli.control import control_plane

    with control_plane():
        from flowapp.accounts.cli.workspace import current_workspace
        from flowapp.connections.destinations import find_destinations

        return find_destinations(current_workspace(), parsed.pipeline)


def _show(console: Console, parsed: Parsed, args: Namespace) -> None:
    show_diagnostics(console, parsed.warnings, args.file)
    show_lines(console, [f"{args.file}: pipeline {parsed.pipeline.id} is valid."])
    if parsed.skipped and not args.online:
        codes = ", ".join(sorted({skipped.code for skipped in parsed.skipped}))
        show_lines(console, [f"  Not checked without the target tables (--online): {codes}"])
