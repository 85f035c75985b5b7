"""`flow watermark`: where incremental loads begin."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from rich.console import Console

from flowapp.cli.outcome import Outcome, minute, said, show_lines, show_table
from flowapp.cli.parser import add_command, add_group
from flowapp.cli.workspace import current_workspace

if TYPE_CHECKING:
    from flowapp.watermarks.places import Place

COLUMNS = {
    "node": "NODE",
    "table": "TABLE",
    "column": "COLUMN",
    "type": "TYPE",
    "value": "MARK",
    "lag": "LAG",
    "ties": "ROWS AT IT",
    "seen": "SEEN",
}
CHANGE_COLUMNS = {"at": "CHANGED", "action": "BY WHAT", "by": "BY WHOM", "old": "FROM", "new": "TO", "reason": "WHY"}
BY = "command line"


def add_parser(commands: Any) -> None:
    group = add_group(commands, "watermark", "where incremental loads begin")
    add_command(group, "show", show_marks, "show the marks of a pipeline, with their history").add_argument(
        "pipeline", metavar="PIPELINE"
    )
    setting = add_command(group, "set", set_mark, "let the next load begin at a value")
    resetting = add_command(group, "reset", reset_mark, "let the next load begin at the highest value of the table")
    for command in (setting, resetting):
        command.add_argument("pipeline", metavar="PIPELINE")
        command.add_argument("node", metavar="NODE", help="the target")
        command.add_argument("--reason", required=True, metavar="TEXT", help="why; it is kept")
    setting.add_argument("value", metavar="VALUE", help="of the column's type, as a file would write it")


def show_marks(args: Namespace) -> Outcome:
    from flowapp.pipelines.selectors import get_pipeline
    from flowapp.watermarks.places import places_of
    from flowapp.watermarks.selectors import get_mark
    from flowapp.watermarks.serializers import WatermarkSerializer

    pipeline = get_pipeline(current_workspace(), args.pipeline)
    marks = [WatermarkSerializer(get_mark(place)).data for place in places_of(pipeline)]
    return Outcome({"pipeline": pipeline.ident, "watermarks": marks}, lambda console: _show(console, marks))


def _show(console: Console, marks: list[dict[str, Any]]) -> None:
    if not marks:
        show_lines(console, ["No target of this pipeline has the load mode incremental_watermark."])
        return
    rows = [
        {**mark, "table": f"{mark['schema']}.{mark['table']}", "seen": minute(mark["seenAt"] or "never")}
        for mark in marks
    ]
    show_table(console, COLUMNS, rows)
    for mark in marks:
        if mark["trouble"]:
            show_lines(
                console, ["", f"{mark['node']}: this is a copy; the database does not answer: {mark['trouble']}"]
            )
        show_lines(console, _warnings(mark))
        if mark["changes"]:
            show_lines(console, ["", f"Changes of {mark['node']}, newest first:"])
            show_table(console, CHANGE_COLUMNS, [{**change, "at": minute(change["at"])} for change in mark["changes"]])


def set_mark(args: Namespace) -> Outcome:
    from flowapp.watermarks.serializers import WatermarkSerializer
    from flowapp.watermarks.services import set_mark

    mark = set_mark(_place(args), args.value, args.reason, BY)
    document = WatermarkSerializer(mark).data
    return said(document, f"The next load of {args.node} begins at {mark.value}.", *_warnings(document))


def reset_mark(args: Namespace) -> Outcome:
    from flowapp.watermarks.serializers import WatermarkSerializer
    from flowapp.watermarks.services import reset_mark

    mark = reset_mark(_place(args), args.reason, BY)
    words = "has no mark now: its next load begins at the highest value of the table."
    document = WatermarkSerializer(mark).data
    return said(document, f"{args.node} {words}", *_warnings(document))


def _warnings(mark: dict[str, Any]) -> list[str]:
    return [f"Warning: {warning['message']} {warning['hint']}" for warning in mark["warnings"]]


def _place(args: Namespace) -> Place:
    from flowapp.pipelines.selectors import get_pipeline
    from flowapp.watermarks.places import place_of

    return place_of(get_pipeline(current_workspace(), args.pipeline), args.node)
