"""`flow files`: list the files that pipelines have found, and undo one."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from flowapp.accounts.cli.workspace import current_workspace
from flowapp.cli.outcome import Outcome, listed, minute, text_outcome
from flowapp.cli.parser import add_command, add_group, add_run, positive

COLUMNS = {
    "id": "FILE",
    "name": "NAME",
    "pipeline": "PIPELINE",
    "state": "STATE",
    "rows": "ROWS",
    "changedAt": "CHANGED",
    "reason": "REASON",
}


def add_parser(commands: Any) -> None:
    group = add_group(commands, "files", "files that pipelines have found")
    listing = add_command(group, "list", list_files, "list files, the most recently changed first")
    listing.add_argument("--pipeline", metavar="ID")
    add_run(listing, "--run", "the newest run that processed a file")
    listing.add_argument("--state", metavar="STATE", help="pending, processing, committed, failed, skipped or undone")
    listing.add_argument("--limit", type=positive, default=20, metavar="N", help="how many (default: 20)")
    undo = add_command(group, "undo", undo_file, "delete the rows that a pipeline has loaded from a file")
    undo.add_argument("file", metavar="FILE", help="the id, as `flow files list` prints it")
    undo.add_argument(
        "--reason", metavar="TEXT", help="the reason; it is stored. Without it, the rows are only counted"
    )
    undo.add_argument("--rows", type=int, metavar="N", help="refuse unless this is the number of rows to delete")
    undo.add_argument("--detach", action="store_true", help="queue it for a worker and return")


def list_files(args: Namespace) -> Outcome:
    from flowapp.files.serializers import FileSerializer
    from flowapp.pipelines.selectors import get_pipeline
    from flowapp.runs.load_units.selectors import list_units
    from flowapp.runs.selectors import find_run

    workspace = current_workspace()
    wanted: dict[str, Any] = {"pipeline": get_pipeline(workspace, args.pipeline)} if args.pipeline else {}
    wanted |= {"run": find_run(workspace, args.run)} if args.run else {}
    wanted |= {"state": _state(args.state)} if args.state else {}
    found = [FileSerializer(unit).data for unit in list_units(workspace, **wanted)[: args.limit]]
    rows = [{**document, "changedAt": minute(document["changedAt"])} for document in found]
    return Outcome({"files": found}, listed("files", rows, COLUMNS, "No files.").show)


def _state(text: str) -> str:
    from flowapp.runs.load_units.models import UnitState
    from ir.errors import FlowError

    if text not in UnitState.values:
        raise FlowError(
            "file.state_unknown", f"Unknown state {text!r}.", hint=f"States: {', '.join(UnitState.values)}."
        )
    return text


def undo_file(args: Namespace) -> Outcome:
    from flowapp.files.serializers import UndoPreviewSerializer
    from flowapp.runs.cli.progress import shown_run
    from flowapp.runs.cli.run import ended
    from flowapp.runs.load_units.selectors import get_unit
    from flowapp.runs.models import Trigger
    from flowapp.runs.serializers import run_json
    from flowapp.undos import services

    unit = get_unit(current_workspace(), args.file)
    found = services.preview(unit)
    if args.reason is None:
        return text_outcome(UndoPreviewSerializer(found).data, *_lines(found))
    rows = found.rows if args.rows is None else args.rows
    if args.detach:
        run = services.undo_file(unit, args.reason, rows, Trigger.CLI)
        return text_outcome(run_json(run, sees_values=True), f"{found.unit.name} is being undone by run {run.name}.")
    with shown_run(found.unit.name) as shown:
        return ended(services.undo_inline(unit, args.reason, rows, engine=shown.engine))


def _lines(found: Any) -> Iterator[str]:
    from ir.words import counted

    for target in found.targets:
        rows = target.found
        yield f"Deletes {counted(rows.rows, 'row')} from {rows.table}."
        if rows.missing:
            yield f"  The table lacks {counted(rows.missing, 'row')} of the same runs: others deleted or replaced them."
        if rows.others:
            yield f"  {counted(rows.others, 'row')} of the same bytes stay: another pipeline wrote them last."
        if rows.unattributed:
            yield f"  {counted(rows.unattributed, 'replayed row')} stay, because their file is not recorded."
        if rows.triggers:
            yield f"  Triggers run: {', '.join(rows.triggers)}."
    yield "To delete them, give a --reason."
