"""`flow channel`: notification channels. Secrets go in and never come out."""

from __future__ import annotations

import os
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from flowapp.accounts.cli.workspace import current_workspace
from flowapp.cli.exits import FAILED, UsageError
from flowapp.cli.outcome import Outcome, listed, minute, said
from flowapp.cli.parser import add_command, add_group
from flowapp.cli.secret_input import read_secret

if TYPE_CHECKING:
    from flowapp.channels.kinds.base import Address

COLUMNS = {"name": "NAME", "kind": "KIND", "address": "GOES TO", "severity": "FROM SEVERITY", "kinds": "KINDS"}
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
    add = add_command(group, "add", add_channel, "send alerts by signed webhook or by email")
    add.add_argument("name", metavar="NAME")
    where = add.add_mutually_exclusive_group(required=True)
    where.add_argument("--webhook", metavar="URL", help="a public https address")
    where.add_argument("--to", metavar="ADDRESS", action="append", help="a recipient; may be repeated")
    add.add_argument("--sender", metavar="ADDRESS", default="", help="the sender's address")
    add.add_argument("--smtp", metavar="HOST[:PORT]", default="", help="the mail server")
    add.add_argument("--security", choices=("starttls", "tls", "none"), default="starttls")
    add.add_argument("--user", default="", help="the user of the mail server")
    add.add_argument(
        "--secret-stdin",
        action="store_true",
        help="read the signing secret, or the mail server's password, from standard input; it may also stand in "
        "FLOW_CHANNEL_SECRET",
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


def add_channel(args: Namespace) -> Outcome:
    from flowapp.channels import services
    from flowapp.channels.serializers import ChannelSerializer

    channel = services.add_channel(
        current_workspace(), args.name, _address(args), severity=args.severity, kinds=args.kind
    )
    return said(
        ChannelSerializer(channel).data, f"Channel {channel.name} saved. Test it: flow channel test {channel.name}"
    )


def _address(args: Namespace) -> Address:
    from flowapp.channels.kinds.email import Mailbox
    from flowapp.channels.kinds.webhook import WebhookAddress

    secret = read_secret("--secret-stdin") if args.secret_stdin else os.environ.get("FLOW_CHANNEL_SECRET", "")
    if args.webhook:
        return WebhookAddress(args.webhook, secret)
    if not args.smtp or not args.sender:
        raise UsageError("email needs --smtp and --sender", command="flow channel add")
    host, _, port = args.smtp.partition(":")
    if port and not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise UsageError(f"{port!r} is no port", command="flow channel add")
    return Mailbox(host, args.sender, tuple(args.to), args.security, int(port or 0), args.user, secret)


def list_channels(args: Namespace) -> Outcome:
    from flowapp.channels import selectors
    from flowapp.channels.serializers import ChannelSerializer

    found = [ChannelSerializer(channel).data for channel in selectors.list_channels(current_workspace())]
    table = [{**c, "address": _goes_to(c), "kinds": ", ".join(c["alertKinds"]) or "all"} for c in found]
    shown = listed("channels", table, COLUMNS, "No channels yet. Add one: flow channel add NAME --webhook URL")
    return Outcome({"channels": found}, shown.show)


def _goes_to(channel: dict[str, Any]) -> str:
    return ", ".join(channel["to"]) if "to" in channel else str(channel["host"])


def test_channel(args: Namespace) -> Outcome:
    from flowapp.channels import selectors, services
    from flowapp.channels.serializers import DeliverySerializer

    delivery = services.send_test(selectors.get_channel(current_workspace(), args.name))
    taken = delivery.state == "delivered"
    line = "Test delivered." if taken else f"Test not delivered: {delivery.error_code}."
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
    return Outcome({"deliveries": deliveries}, listed("deliveries", table, LOG, "No messages yet.").show)


def send_again(args: Namespace) -> Outcome:
    from flowapp.channels import selectors, services
    from flowapp.channels.serializers import DeliverySerializer

    channel = selectors.get_channel(current_workspace(), args.name)
    is_mine = services.send_again(selectors.get_delivery(channel, args.key), "the command line")
    line = "The scheduler sends it within a few seconds." if is_mine else "Another person already had it resent."
    return said(DeliverySerializer(selectors.get_delivery(channel, args.key)).data, line)


def remove_channel(args: Namespace) -> Outcome:
    from flowapp.channels import selectors, services

    services.remove_channel(selectors.get_channel(current_workspace(), args.name))
    return said({"removed": args.name}, f"Channel {args.name} removed with its secret and its log.")
