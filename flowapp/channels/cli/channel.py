"""`flow channel`: notification channels. Commands accept secrets and never print them."""

from __future__ import annotations

import os
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from flowapp.accounts.cli.workspace import current_workspace
from flowapp.cli.exits import FAILED, UsageError
from flowapp.cli.outcome import Outcome, listed, minute, text_outcome
from flowapp.cli.parser import Parser, add_command, add_group
from flowapp.cli.secret_input import read_secret

if TYPE_CHECKING:
    from flowapp.channels.kinds.base import Address, ChannelField, Option

COLUMNS = {"name": "NAME", "kind": "KIND", "address": "DESTINATION", "severity": "FROM SEVERITY", "kinds": "KINDS"}
LOG = {
    "key": "KEY",
    "madeAt": "AT",
    "event": "EVENT",
    "alertKind": "ALERT",
    "pipeline": "PIPELINE",
    "state": "STATE",
    "attempts": "TRIES",
    "error": "LAST ERROR",
}
SHOWN_IN_LOG = 50


def add_parser(commands: Any) -> None:
    group = add_group(commands, "channel", "notification channels")
    add = add_command(group, "add", add_channel, "add a channel, of the kind that its options name")
    add.add_argument("name", metavar="NAME")
    add.late_options = _add_kinds
    add.add_argument(
        "--secret-stdin",
        action="store_true",
        help="read the signing secret or password from standard input; you can also set FLOW_CHANNEL_SECRET",
    )
    add.add_argument("--severity", choices=("warning", "error"), default="warning", help="the lowest severity to send")
    add.add_argument(
        "--kind", metavar="KIND", action="append", default=[], help="send only alerts of this kind; may be repeated"
    )
    add_command(group, "list", list_channels, "list the channels")
    for name, handler, summary in (
        ("test", test_channel, "send a test message"),
        ("log", show_log, "list recent messages and their results"),
        ("remove", remove_channel, "remove a channel, its secret and its log"),
    ):
        add_command(group, name, handler, summary).add_argument("name", metavar="NAME")
    again = add_command(group, "again", send_again, "resend a failed message")
    again.add_argument("name", metavar="NAME")
    again.add_argument("key", metavar="KEY", help="as the log shows it")


def _add_kinds(add: Parser) -> None:
    """Add the options of every kind. A kind's first option selects the kind; kinds may share the other options."""
    from flowapp.channels.kinds import CHANNEL_KINDS

    where = add.add_mutually_exclusive_group(required=True)
    known: set[str] = set()
    for kind in CHANNEL_KINDS.values():
        for field in kind.fields:
            if field.option and field.option.flag not in known:
                known.add(field.option.flag)
                _add_option(where if field is kind.fields[0] else add, field, field.option)


def _add_option(parser: Any, field: ChannelField, option: Option) -> None:
    action = "append" if field.type == "lines" else "store"
    choices = [value for value, _ in field.choices] or None
    parser.add_argument(option.flag, metavar=option.metavar, help=option.help, action=action, choices=choices)


def add_channel(args: Namespace) -> Outcome:
    from flowapp.channels import services
    from flowapp.channels.serializers import ChannelSerializer

    channel = services.add_channel(
        current_workspace(), args.name, _address(args), severity=args.severity, kinds=args.kind
    )
    return text_outcome(
        ChannelSerializer(channel).data, f"Channel {channel.name} saved. Test it: flow channel test {channel.name}"
    )


def _address(args: Namespace) -> Address:
    from flowapp.channels.kinds import CHANNEL_KINDS
    from flowapp.channels.services import make_address

    kind = next(kind for kind in CHANNEL_KINDS.values() if _value(args, kind.fields[0]))
    missing = [
        field.option.flag for field in kind.fields if field.option and field.required and not _value(args, field)
    ]
    if missing:
        raise UsageError(f"{kind.label.lower()} needs {' and '.join(missing)}", command="flow channel add")
    given: dict[str, Any] = {}
    for field in kind.fields:
        given |= _read(field, _value(args, field))
    if kind.secret:
        given[kind.secret.name] = _secret(args)
    return make_address(kind.name, given)


def _value(args: Namespace, field: ChannelField) -> Any:
    return getattr(args, field.option.flag.removeprefix("--").replace("-", "_")) if field.option else None


def _read(field: ChannelField, value: Any) -> dict[str, Any]:
    """Return the address fields that an option sets; empty if the option is absent."""
    if not value:
        return {}
    if field.option is None or field.option.read is None:
        return {field.name: value}
    try:
        return field.option.read(value)
    except ValueError as error:
        raise UsageError(str(error), command="flow channel add") from None


def _secret(args: Namespace) -> str:
    return read_secret("--secret-stdin") if args.secret_stdin else os.environ.get("FLOW_CHANNEL_SECRET", "")


def list_channels(args: Namespace) -> Outcome:
    from flowapp.channels import selectors
    from flowapp.channels.kinds import CHANNEL_KINDS
    from flowapp.channels.serializers import ChannelSerializer

    channels = selectors.list_channels(current_workspace())
    found = [ChannelSerializer(channel).data for channel in channels]
    recipients = [CHANNEL_KINDS[channel.kind].recipient(channel.settings) for channel in channels]
    table = [
        {**c, "address": recipient, "kinds": ", ".join(c["alertKinds"]) or "all"}
        for c, recipient in zip(found, recipients, strict=True)
    ]
    outcome = listed("channels", table, COLUMNS, "No channels yet. Add one: flow channel add --help")
    return Outcome({"channels": found}, outcome.show)


def test_channel(args: Namespace) -> Outcome:
    from flowapp.channels import selectors, services
    from flowapp.channels.serializers import DeliverySerializer

    delivery = services.send_test(selectors.get_channel(current_workspace(), args.name))
    taken = delivery.state == "delivered"
    line = "Test delivered." if taken else f"Test not delivered: {delivery.error_code}."
    outcome = text_outcome(DeliverySerializer(delivery).data, f"{line} {delivery.error_message}".strip())
    return Outcome(outcome.document, outcome.show, 0 if taken else FAILED)


def show_log(args: Namespace) -> Outcome:
    from flowapp.channels import selectors
    from flowapp.channels.serializers import DeliverySerializer

    channel = selectors.get_channel(current_workspace(), args.name)
    deliveries = [DeliverySerializer(d).data for d in selectors.list_deliveries(channel)[:SHOWN_IN_LOG]]
    table = [
        {**d, "madeAt": minute(d["madeAt"]), "error": d["lastError"] and d["lastError"]["message"]} for d in deliveries
    ]
    return Outcome({"deliveries": deliveries}, listed("deliveries", table, LOG, "No messages yet.").show)


def send_again(args: Namespace) -> Outcome:
    from flowapp.channels import selectors, services
    from flowapp.channels.serializers import DeliverySerializer

    channel = selectors.get_channel(current_workspace(), args.name)
    is_mine = services.send_again(selectors.get_delivery(channel, args.key), "the command line")
    line = "The scheduler sends it within a few seconds." if is_mine else "Another person already had it resent."
    return text_outcome(DeliverySerializer(selectors.get_delivery(channel, args.key)).data, line)


def remove_channel(args: Namespace) -> Outcome:
    from flowapp.channels import selectors, services

    services.remove_channel(selectors.get_channel(current_workspace(), args.name))
    return text_outcome({"removed": args.name}, f"Channel {args.name} removed with its secret and its log.")
