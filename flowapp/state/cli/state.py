"""`flow state`: move the state of pipelines to another installation."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowapp.accounts.cli.workspace import current_workspace
from flowapp.cli.exits import FAILED
from flowapp.cli.outcome import Outcome, show_lines, text_outcome
from flowapp.cli.parser import add_command, add_group

if TYPE_CHECKING:
    from flowapp.state.importing import Imported

DEFAULT_FILE = "flow-state.jsonl"


def add_parser(commands: Any) -> None:
    group = add_group(commands, "state", "state of pipelines, for another installation")
    exporting = add_command(group, "export", export_state, "write runs, files, load records and watermarks into a file")
    exporting.add_argument("file", metavar="FILE", nargs="?", default=DEFAULT_FILE, help=f"default: {DEFAULT_FILE}")
    exporting.add_argument("--pipeline", metavar="ID", help="of one pipeline (default: all of the workspace)")
    importing = add_command(group, "import", import_state, "add what a file holds and this installation lacks")
    importing.add_argument("file", metavar="FILE")
    importing.add_argument("--dry-run", action="store_true", help="say what would be added; change nothing")


def export_state(args: Namespace) -> Outcome:
    from flowapp.pipelines.models import Pipeline
    from flowapp.pipelines.selectors import get_pipeline
    from flowapp.state.exporting import export_state

    workspace = current_workspace()
    if args.pipeline:
        pipelines = [get_pipeline(workspace, args.pipeline)]
    else:
        pipelines = list(Pipeline.objects.filter(workspace=workspace).order_by("slug"))
    counts = export_state(workspace, pipelines, Path(args.file))
    written = ", ".join(f"{count:,} {name}" for name, count in counts.items()) or "no pipelines"
    return text_outcome({"file": args.file, **counts}, f"Wrote {written} to {args.file}.")


def import_state(args: Namespace) -> Outcome:
    from flowapp.state.importing import import_state

    done = import_state(current_workspace(), Path(args.file), dry_run=args.dry_run)
    lines = [line for one in done for line in _lines(one)]
    if args.dry_run:
        lines.append("Dry run: nothing was changed.")
    document = {"dryRun": args.dry_run, "pipelines": [_document(one) for one in done]}
    status = FAILED if any(one.error for one in done) else 0
    return Outcome(document, lambda console: show_lines(console, lines), status=status)


def _lines(done: Imported) -> list[str]:
    if done.error:
        return [f"{done.pipeline}: nothing imported. {done.error.message} [{done.error.code}] {done.error.hint}"]
    added = (
        f"{done.runs:,} runs, {done.files:,} files, {done.load_records:,} load records, {done.watermarks:,} watermarks"
    )
    return [f"{done.pipeline}: {added} added.", *(f"{done.pipeline}: {note}" for note in done.notes)]


def _document(done: Imported) -> dict[str, Any]:
    error = done.error
    return {
        "pipeline": done.pipeline,
        "runs": done.runs,
        "files": done.files,
        "loadRecords": done.load_records,
        "watermarks": done.watermarks,
        "notes": done.notes,
        "error": {"code": error.code, "message": error.message, "hint": error.hint} if error else None,
    }
