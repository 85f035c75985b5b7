"""`flow stream`: streams of pipelines that follow changes."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from flowapp.accounts.cli.workspace import current_workspace
from flowapp.cli.outcome import Outcome, listed, text_outcome
from flowapp.cli.parser import add_command, add_group
from ir.words import duration_text, size_text

if TYPE_CHECKING:
    from flowapp.streams.models import Stream

BY = "command line"
COLUMNS = {"pipeline": "PIPELINE", "status": "STATUS", "lag": "LAG", "log": "LOG HELD", "reason": "REASON"}


def add_parser(commands: Any) -> None:
    group = add_group(commands, "stream", "pipelines that follow the changes of a source")
    add_command(group, "list", list_streams, "list the streams with their lag and their slots")
    for name, handler, summary, required in (
        ("pause", pause, "pause a stream; the window that is being loaded ends first", False),
        ("resume", resume, "let a paused or stopped stream run again", False),
        ("resnapshot", new_snapshot, "read all rows again, and replace those of the target by them", True),
        ("drop-slot", remove_slot, "drop the slot of a stream that does not run", True),
    ):
        command = add_command(group, name, handler, summary)
        command.add_argument("pipeline", metavar="PIPELINE")
        command.add_argument("--reason", metavar="TEXT", required=required, default="", help="the reason; it is stored")
        command.set_defaults(joins_broker=True)


def list_streams(args: Namespace) -> Outcome:
    from flowapp.api.serializers import represent_all
    from flowapp.streams import selectors
    from flowapp.streams.serializers import StreamSerializer

    found = represent_all(StreamSerializer, selectors.view_all(selectors.list_streams(current_workspace())))
    rows = [
        {
            **stream,
            "lag": "–" if stream["lagSeconds"] is None else duration_text(stream["lagSeconds"]),
            "log": _held(stream["slot"] or {}),
            "reason": stream["failingMessage"] or stream["reason"],
        }
        for stream in found
    ]
    shown = listed("streams", rows, COLUMNS, "No streams yet.")
    return Outcome({"streams": found}, shown.show)


def _held(slot: dict[str, Any]) -> str:
    """Return how much log a slot makes its server retain; – without a slot."""
    return "–" if slot.get("retainedBytes") is None else size_text(slot["retainedBytes"])


def pause(args: Namespace) -> Outcome:
    from flowapp.streams.services import pause_stream

    pause_stream(_stream(args), BY, args.reason)
    return _done(args, "is paused. The window that is being loaded ends first.")


def resume(args: Namespace) -> Outcome:
    from flowapp.streams.services import resume_stream

    resume_stream(_stream(args), BY, args.reason)
    return _done(args, "goes on.")


def new_snapshot(args: Namespace) -> Outcome:
    from flowapp.runs.models import Trigger
    from flowapp.streams.services import resnapshot

    resnapshot(_stream(args), BY, args.reason, Trigger.CLI)
    return _done(args, "reads all rows again, and then follows the changes.")


def remove_slot(args: Namespace) -> Outcome:
    from flowapp.streams.watching import drop_slot

    drop_slot(_stream(args), BY, args.reason)
    return _done(args, "has no slot any more. It needs a new snapshot to go on.")


def _done(args: Namespace, words: str) -> Outcome:
    from flowapp.streams.selectors import view_of
    from flowapp.streams.serializers import StreamSerializer

    document = dict(StreamSerializer(view_of(_stream(args))).data)
    return text_outcome(document, f"The stream of {args.pipeline} {words}")


def _stream(args: Namespace) -> Stream:
    from flowapp.streams.selectors import get_stream

    return get_stream(current_workspace(), args.pipeline)
