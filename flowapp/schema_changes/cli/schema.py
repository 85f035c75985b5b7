"""`flow schema`: changes of the columns of sources, and the JSON Schemas of documents."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from flowapp.accounts.cli.workspace import current_workspace
from flowapp.cli.outcome import Outcome, listed, minute, text_outcome
from flowapp.cli.parser import add_command, add_group, positive
from flowapp.pipelines.cli.schema import add_export

COLUMNS = {
    "short": "CHANGE",
    "state": "STATE",
    "tableName": "TABLE",
    "message": "WHAT",
    "seenAt": "SEEN",
    "decidedBy": "DECIDED BY",
    "reason": "REASON",
}
BY = "command line"


def add_parser(commands: Any) -> None:
    group = add_group(commands, "schema", "changes of the columns of sources; JSON Schemas of documents")
    log = add_command(group, "log", show_log, "show the changes of the columns of a pipeline's sources, newest first")
    log.add_argument("pipeline", metavar="PIPELINE")
    log.add_argument("--limit", type=positive, default=50, metavar="N", help="how many (default: 50)")
    accepting = add_command(group, "accept", accept, "let the next load follow changes")
    accepting.add_argument("pipeline", metavar="PIPELINE")
    accepting.add_argument("changes", metavar="CHANGE", nargs="*", help="as `log` prints them; without any: all")
    accepting.add_argument("--reason", metavar="TEXT", default="", help="the reason; it is stored")
    rejecting = add_command(group, "reject", reject, "keep refusing loads with changes")
    rejecting.add_argument("pipeline", metavar="PIPELINE")
    rejecting.add_argument("changes", metavar="CHANGE", nargs="+", help="as `log` prints them")
    rejecting.add_argument("--reason", metavar="TEXT", required=True, help="the reason; it is stored")
    add_export(group)


def show_log(args: Namespace) -> Outcome:
    from flowapp.pipelines.selectors import get_pipeline
    from flowapp.schema_changes.selectors import list_changes
    from flowapp.schema_changes.serializers import ColumnChangeSerializer

    workspace = current_workspace()
    pipeline = get_pipeline(workspace, args.pipeline)
    found = [ColumnChangeSerializer(change).data for change in list_changes(workspace, pipeline=pipeline)[: args.limit]]
    empty = "No changes: the columns of its sources were the same in all loads."
    document = {"pipeline": pipeline.slug, "changes": found}
    return Outcome(document, listed("changes", list(map(_row, found)), COLUMNS, empty).show)


def _row(change: dict[str, Any]) -> dict[str, Any]:
    return {
        **change,
        "short": change["id"][:8],
        "tableName": f"{change['schema']}.{change['table']}",
        "seenAt": minute(change["seenAt"]),
    }


def accept(args: Namespace) -> Outcome:
    from flowapp.pipelines.selectors import get_pipeline
    from flowapp.schema_changes.services import accept_changes, open_changes

    pipeline = get_pipeline(current_workspace(), args.pipeline)
    changes = open_changes(pipeline, args.changes)
    accept_changes(changes, BY, reason=args.reason)
    if not changes:
        return text_outcome({"accepted": []}, f"{pipeline.slug} has no change that waits for a decision.")
    lines = [f"Accepted: {change.sentence}" for change in changes]
    return text_outcome(
        {"accepted": [str(change.pk) for change in changes]}, *lines, f"flow run {pipeline.slug} applies it."
    )


def reject(args: Namespace) -> Outcome:
    from flowapp.pipelines.selectors import get_pipeline
    from flowapp.schema_changes.services import open_changes, reject_changes

    pipeline = get_pipeline(current_workspace(), args.pipeline)
    changes = open_changes(pipeline, args.changes)
    reject_changes(changes, BY, reason=args.reason)
    lines = [f"Rejected: {change.sentence}" for change in changes]
    return text_outcome({"rejected": [str(change.pk) for change in changes]}, *lines)
