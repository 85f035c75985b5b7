"""`flow token`: API tokens."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from flowapp.accounts.cli.workspace import current_workspace
from flowapp.cli.outcome import Outcome, text_outcome
from flowapp.cli.parser import add_command, add_group


def add_parser(commands: Any) -> None:
    group = add_group(commands, "token", "API tokens")
    add = add_command(group, "add", add_token, "create an API token and print it once")
    add.add_argument("name", metavar="NAME")
    add.add_argument("--role", required=True, help="viewer, editor or admin")
    add.add_argument("--days", type=int, default=90, metavar="N", help="days until it expires (default: 90)")


def add_token(args: Namespace) -> Outcome:
    from flowapp.accounts.services import add_token as add

    key, token = add(current_workspace(), args.name, args.role, days=args.days)
    document = {
        "name": token.name,
        "workspace": token.workspace.slug,
        "role": token.role,
        "token": key,
        "expiresAt": token.expires_at,
    }
    return text_outcome(
        document,
        key,
        f"Token {token.name}: {token.role} in workspace {token.workspace.slug} until {token.expires_at:%Y-%m-%d}.",
        "It is not shown again. Only its hash is stored.",
    )
