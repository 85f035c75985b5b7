"""`flow trigger`: signed webhooks that queue runs of a pipeline."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from flowapp.accounts.cli.workspace import current_workspace
from flowapp.cli.outcome import Outcome, listed, minute, text_outcome
from flowapp.cli.parser import add_command, add_group

if TYPE_CHECKING:
    from flowapp.pipelines.models import Pipeline
    from flowapp.triggers.models import EventTrigger

BY = "command line"
COLUMNS = {"name": "NAME", "ifBusy": "IF BUSY", "lastUsedAt": "LAST USED", "url": "URL"}


def add_parser(commands: Any) -> None:
    group = add_group(commands, "trigger", "signed webhooks that queue runs of a pipeline")
    adding = add_command(group, "add", add, "add a trigger and print its secret once")
    listing = add_command(group, "list", list_triggers, "list the triggers of a pipeline")
    rotating = add_command(group, "rotate", rotate, "replace the secret of a trigger and print it once")
    removing = add_command(group, "remove", remove, "remove a trigger")
    for command in (adding, listing, rotating, removing):
        command.add_argument("pipeline", metavar="PIPELINE")
    for command in (adding, rotating, removing):
        command.add_argument("name", metavar="NAME")
    adding.add_argument(
        "--if-busy", choices=("wait", "refuse"), default="wait", help="what a call does while a run is not finished"
    )


def add(args: Namespace) -> Outcome:
    from flowapp.triggers.services import add_trigger

    return _with_secret(*add_trigger(_pipeline(args), args.name, args.if_busy, BY))


def list_triggers(args: Namespace) -> Outcome:
    from flowapp.api.serializers import represent_all
    from flowapp.triggers import selectors
    from flowapp.triggers.serializers import TriggerSerializer

    found = represent_all(TriggerSerializer, selectors.list_triggers(_pipeline(args)))
    rows = [{**trigger, "lastUsedAt": minute(trigger["lastUsedAt"] or "never")} for trigger in found]
    shown = listed("triggers", rows, COLUMNS, "No triggers yet.")
    return Outcome({"triggers": found}, shown.show)


def rotate(args: Namespace) -> Outcome:
    from flowapp.triggers.services import rotate_trigger

    trigger = _trigger(args)
    return _with_secret(trigger, rotate_trigger(trigger, BY))


def remove(args: Namespace) -> Outcome:
    from flowapp.triggers.services import remove_trigger

    remove_trigger(_trigger(args), BY)
    return text_outcome({"removed": args.name}, f"Trigger {args.name} removed.")


def _with_secret(trigger: EventTrigger, secret: str) -> Outcome:
    from flowapp.triggers.serializers import TriggerWithSecretSerializer

    document = TriggerWithSecretSerializer(trigger, context={"secret": secret}).data
    lines = (f"URL:    {document['url']}", f"Secret: {secret}", "The secret is not shown again.")
    return text_outcome(document, *lines)


def _pipeline(args: Namespace) -> Pipeline:
    from flowapp.pipelines.selectors import get_pipeline

    return get_pipeline(current_workspace(), args.pipeline)


def _trigger(args: Namespace) -> EventTrigger:
    from flowapp.triggers.selectors import get_trigger

    return get_trigger(_pipeline(args), name=args.name)
