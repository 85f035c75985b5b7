"""`flow watermark`: watermarks of incremental loads."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from rich.console import Console

from flowapp.accounts.cli.workspace import current_workspace
from flowapp.cli.outcome import Outcome, minute, show_lines, show_table, text_outcome
from flowapp.cli.parser import add_command, add_group

if TYPE_CHECKING:
    from flowapp.watermarks.targets import WatermarkTarget

COLUMNS = {
    "node": "NODE",
    "table": "TABLE",
    "column": "COLUMN",
    "type": "TYPE",
    "value": "MARK",
    "lag": "LAG",
    "boundary_rows": "ROWS AT IT",
    "seen": "SEEN",
    "revision": "REVISION",
}
CHANGE_COLUMNS = {"at": "CHANGED", "action": "BY WHAT", "by": "CHANGED BY", "old": "FROM", "new": "TO", "reason": "WHY"}
BY = "command line"


def add_parser(commands: Any) -> None:
    group = add_group(commands, "watermark", "watermarks of incremental loads")
    add_command(group, "show", show_watermarks, "show the watermarks of a pipeline with their history").add_argument(
        "pipeline", metavar="PIPELINE"
    )
    setting = add_command(group, "set", set_watermark, "set a watermark")
    resetting = add_command(group, "reset", reset_watermark, "reset a watermark to the highest value of the table")
    for command in (setting, resetting):
        command.add_argument("pipeline", metavar="PIPELINE")
        command.add_argument("node", metavar="NODE", help="the target")
        command.add_argument("--reason", required=True, metavar="TEXT", help="the reason; it is stored")
        command.add_argument(
            "--if-revision", metavar="REVISION", help="change it only if it still has the revision that `show` printed"
        )
    checking = add_command(
        group, "check", check_watermark, "say what the next run would do if the watermark were set or reset"
    )
    checking.add_argument("pipeline", metavar="PIPELINE")
    checking.add_argument("node", metavar="NODE", help="the target")
    checking.add_argument("value", metavar="VALUE", nargs="?", help="the value to set; without one: a reset")
    setting.add_argument("value", metavar="VALUE", help="in the format of the column's type")


def show_watermarks(args: Namespace) -> Outcome:
    from flowapp.api.serializers import represent_all
    from flowapp.pipelines.selectors import get_pipeline
    from flowapp.watermarks.selectors import get_watermark
    from flowapp.watermarks.serializers import WatermarkSerializer
    from flowapp.watermarks.targets import list_watermark_targets

    pipeline = get_pipeline(current_workspace(), args.pipeline)
    watermarks = represent_all(WatermarkSerializer, map(get_watermark, list_watermark_targets(pipeline)))
    return Outcome({"pipeline": pipeline.slug, "watermarks": watermarks}, lambda console: _show(console, watermarks))


def _show(console: Console, watermarks: list[dict[str, Any]]) -> None:
    if not watermarks:
        show_lines(console, ["No target of this pipeline has the load mode incremental_watermark."])
        return
    rows = [
        {
            **watermark,
            "table": f"{watermark['schema']}.{watermark['table']}",
            "seen": minute(watermark["seenAt"] or "never"),
        }
        for watermark in watermarks
    ]
    show_table(console, COLUMNS, rows)
    for watermark in watermarks:
        if watermark["trouble"]:
            show_lines(
                console,
                [
                    "",
                    f"{watermark['node']}: this is a copy because the database does not answer: {watermark['trouble']}",
                ],
            )
        for line in watermark["nextRun"]:
            show_lines(console, [f"{watermark['node']}: {line}"])
        show_lines(console, _warnings(watermark))
        if watermark["changes"]:
            show_lines(console, ["", f"Changes of {watermark['node']}, newest first:"])
            show_table(
                console, CHANGE_COLUMNS, [{**change, "at": minute(change["at"])} for change in watermark["changes"]]
            )


def set_watermark(args: Namespace) -> Outcome:
    from flowapp.watermarks.serializers import WatermarkSerializer
    from flowapp.watermarks.services import set_watermark

    watermark = set_watermark(_target(args), args.value, args.reason, BY, revision=args.if_revision)
    document = WatermarkSerializer(watermark).data
    return text_outcome(document, f"The next load of {args.node} begins at {watermark.value}.", *_warnings(document))


def check_watermark(args: Namespace) -> Outcome:
    from flowapp.watermarks.selectors import plan_next_run

    lines = plan_next_run(_target(args), args.value, resets=args.value is None)
    return text_outcome({"nextRun": lines}, *lines)


def reset_watermark(args: Namespace) -> Outcome:
    from flowapp.watermarks.serializers import WatermarkSerializer
    from flowapp.watermarks.services import reset_watermark

    watermark = reset_watermark(_target(args), args.reason, BY, revision=args.if_revision)
    words = "has no watermark. Its next load begins at the highest value of the table."
    document = WatermarkSerializer(watermark).data
    return text_outcome(document, f"{args.node} {words}", *_warnings(document))


def _warnings(watermark: dict[str, Any]) -> list[str]:
    return [f"Warning: {warning['message']} {warning['hint']}" for warning in watermark["warnings"]]


def _target(args: Namespace) -> WatermarkTarget:
    from flowapp.pipelines.selectors import get_pipeline
    from flowapp.watermarks.targets import find_watermark_target

    return find_watermark_target(get_pipeline(current_workspace(), args.pipeline), args.node)
