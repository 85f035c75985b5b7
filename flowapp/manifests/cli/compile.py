"""`flow compile`: convert transforms written in Python or TypeScript to operations of pipelines."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from flowapp.cli.exits import FAILED, INVALID
from flowapp.cli.outcome import Outcome, show_lines, text_outcome
from flowapp.cli.parser import add_command
from flowapp.manifests.cli.show import invalid_project
from ir.manifests.diagnostics import InvalidProject


def add_parser(commands: Any) -> None:
    command = add_command(
        commands, "compile", compile_files, "compile transforms written as code into plans", needs_database=False
    )
    command.epilog = (
        "Runs the sources, here and with your rights. Exit status: 0 compiled or up to date, 1 with --check: not up to "
        "date, 2 invalid sources."
    )
    command.add_argument("files", metavar="FILE", nargs="*", help="a source (default: all in the folder transforms)")
    command.add_argument("--check", action="store_true", help="write nothing; fail if a plan is not up to date")


def compile_files(args: Namespace) -> Outcome:
    from flowapp.manifests.compiling import compile_sources, find_sources
    from flowapp.manifests.folders import write_folder

    folder, sources = find_sources(args.files)
    try:
        compiled = compile_sources(folder, sources)
    except InvalidProject as error:
        return invalid_project(error, INVALID)
    if args.check:
        return _checked(list(compiled.outdated))
    outdated = compiled.outdated
    write_folder(folder, outdated)
    written = [name for name, text in outdated.items() if text is not None]
    removed = [name for name, text in outdated.items() if text is None]
    lines = [*(f"Written: {name}" for name in written), *(f"Removed: {name}" for name in removed)]
    return text_outcome({"written": written, "removed": removed}, *(lines or ["The plans are up to date."]))


def _checked(outdated: list[str]) -> Outcome:
    lines = [f"Not up to date: {name}" for name in outdated]
    hint = "To write them: flow compile" if outdated else "The plans are up to date."
    return Outcome(
        {"outdated": outdated}, lambda console: show_lines(console, [*lines, hint]), FAILED if outdated else 0
    )
