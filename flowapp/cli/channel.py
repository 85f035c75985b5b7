"""`flow channel`: where alerts are told. Secrets go in and never come out."""

from __future__ import annotations

import os
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from flowapp.cli.exits import FAILED, UsageError
from flowapp.cli.outcome import Outcome, listed, minute, said
from flowapp.cli.parser import add_command, add_group
from flowapp.cli.secret_input import read_secret
from flowapp.cli.workspace import current_workspace

if TYPE_CHECKING:
    from flowapp.channels.kinds.base import Address

COLUMNS = {"name": "NAME", "kind": "KIND", "address": "GOES TO", "severity": "FROM SEVERITY", "tells": "KINDS"}
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
    group = add_group(commands, "channel", "where alerts are told")
    add = add_command(group, "add", add_channel, "tell alerts by signed webhook or by e-mail")
    add.add_argument("name", metavar="NAME")
    where = add.add_mutually_exclusive_group(required=True)
    where.add_argument("--webhook", metavar="URL", help="a public https address")
    where.add_argument("--to", metavar="ADDRESS", action="append", help="who gets mails; may be repeated")
    add.add_argument("--sender", metavar="ADDRESS", default="", help="whom mails come from")
    add.add_argument("--smtp", metavar="HOST[:PORT]", default="", help="the mail server")
    add.add_argument("--security", choices=("starttls", "tls", "none"), default="starttls")
    add.add_argument("--user", default="", help="who signs in at the mail server")
    add.add_argument(
        "--secret-stdin",
        action="store_true",
        help="read the signing secret, or the mail server's password, from standard input; it may also stand in "
        "FLOW_CHANNEL_SECRET",
    )
    add.add_argument("--severity", choices=("warning", "error"), default="warning", help="the least that is told")
    add.add_argument("--kind", metavar="KIND", action="append", default=[], help="tell such alerts alone; repeatable")
    add_command(group, "list", list_channels, "list the channels")
    for name, handler, summary in (
        ("test", test_channel, "send a message that says it is a test"),
        ("log", show_log, "what was sent lately, and what came of it"),
        ("remove", remove_channel, "forget a channel, its secret and its log"),
    ):
        add_command(group, name, handler, summary).add_argument("name", metavar="NAME")
    again = add_command(group, "again", send_again, "send a message that failed once more")
    again.add_argument("name", metavar="NAME")
    again.add_argument("key", metavar="KEY", help="as the log shows it")


def add_channel(args: Namespace) -> Outcome:
    from flowapp.channels import services
    from flowapp.channels.serializers import ChannelSerializer

    channel = services.add_channel(
        current_workspace(), args.name, _address(args), severity=args.severity, kinds=args.kind
    )
    return said(
        ChannelSerializer(channel).data, f"Channel {channel.name} is stored. Try it: flow channel test {channel.name}"
    )


def _address(args: Namespace) -> Address:
    from flowapp.channels.kinds.email import Mailbox
    from flowapp.channels.kinds.webhook import WebhookAddress

    secret = read_secret("--secret-stdin") if args.secret_stdin else os.environ.get("FLOW_CHANNEL_SECRET", "")
    if args.webhook:
        return WebhookAddress(args.webhook, secret)
    if not args.smtp or not args.sender:
        raise UsageError("mails need --smtp and --sender", command="flow channel add")
    host, _, port = args.smtp.partition(":")
    if port and not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise UsageError(f"{port!r} is no port", command="flow channel add")
    return Mailbox(host, args.sender, tuple(args.to), args.security, int(port or 0), args.user, secret)


def list_channels(args: Namespace) -> Outcome:
    from flowapp.channels import selectors
    from flowapp.channels.serializers import ChannelSerializer

    found = [ChannelSerializer(channel).data for channel in selectors.list_channels(current_workspace())]
    table = [{**c, "address": _goes_to(c), "tells": ", ".join(c["alertKinds"]) or "all"} for c in found]
    shown = listed("channels", table, COLUMNS, "No channels yet. Add one: flow channel add NAME --webhook URL")
    return Outcome({"channels": found}, shown.show)


def _goes_to(channel: dict[str, Any]) -> str:
    return ", ".join(channel["to"]) if "to" in channel else str(channel["host"])


def test_channel(args: Namespace) -> Outcome:
    from flowapp.channels import selectors, services
    from flowapp.channels.serializers import DeliverySerializer

    delivery = services.send_test(selectors.get_channel(current_workspace(), args.name))
    taken = delivery.state == "delivered"
    line = "The test was taken." if taken else f"The test was not taken: {delivery.error_code}."
    shown = said(DeliverySerializer(delivery).data, f"{line} {delivery.error_message}".strip())
    return Outcome(shown.document, shown.show, 0 if taken else FAILED)


def show_log(args: Namespace) -> Outcome:
    from flowapp.channels import selectors
    from flowapp.channels.serializers import DeliverySerializer

    channel = selectors.get_channel(current_workspace(), args.name)
    deliveries = [DeliverySerializer(d).data for d in selectors.list_deliveries(channel)[:SHOWN_IN_LOG]]
    table = [
        {**d, "madeAt": minute(d["madeAt"]), "error": d["lastError"] and d["lastError"]["message"]} for d in deliveries
    ]
    return Outcome({"deliveries": deliveries}, listed("deliveries", table, LOG, "Nothing was sent yet.").show)


def send_again(args: Namespace) -> Outcome:
    from flowapp.channels import selectors, services
    from flowapp.channels.serializers import DeliverySerializer

    channel = selectors.get_channel(current_workspace(), args.name)
    is_mine = services.send_again(selectors.get_delivery(channel, args.key), "the command line")
    line = "The scheduler sends it within some seconds." if is_mine else "Somebody else has had it sent again already."
    return said(DeliverySerializer(selectors.get_delivery(channel, args.key)).data, line)


def remove_channel(args: Namespace) -> Outcome:
    from flowapp.channels import selectors, services

    services.remove_channel(selectors.get_channel(current_workspace(), args.name))
    return said({"removed": args.name}, f"Channel {args.name} is gone, its secret and its log with it.")
