"""`flow user`: users and their one-time login links."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from flowapp.accounts.cli.workspace import current_workspace
from flowapp.cli.outcome import Outcome, text_outcome
from flowapp.cli.parser import add_command, add_group

if TYPE_CHECKING:
    from flowapp.accounts.models import Membership


def add_parser(commands: Any) -> None:
    group = add_group(commands, "user", "users and their login links")
    add = add_command(group, "add", add_user, "add a user to the workspace with a role")
    add.add_argument("email", metavar="EMAIL")
    add.add_argument("--role", required=True, help="viewer, editor or admin")
    link = add_command(group, "link", link_user, "print a one-time login link")
    link.add_argument("email", metavar="EMAIL")


def add_user(args: Namespace) -> Outcome:
    from flowapp.accounts.services import add_member

    member = add_member(current_workspace(), args.email, args.role)
    lines = [f"{member.user.email} is {member.role} in workspace {member.workspace.slug}."]
    if member.ended:
        lines.append(f"Other people may have had access to the account. Adding it here revoked {member.ended}.")
    if not member.user.has_usable_password():
        lines.append(f"There is no password: `flow user link {member.user.email}` prints a login link.")
    return text_outcome(_document(member), *lines)


def _document(member: Membership) -> dict[str, Any]:
    ended = member.ended
    return {
        "email": member.user.email,
        "workspace": member.workspace.slug,
        "role": member.role,
        "endedCredentials": ended
        and {"password": ended.password, "sessions": ended.sessions, "links": ended.links, "tokens": ended.tokens},
    }


def link_user(args: Namespace) -> Outcome:
    from flowapp.accounts.services import make_login_link

    url, link = make_login_link(args.email)
    return text_outcome(
        {"url": url, "expiresAt": link.expires_at},
        url,
        f"It works once, until {link.expires_at:%Y-%m-%d %H:%M} UTC, and is not shown again.",
        "Give it only to that person. Anyone who uses it controls the account.",
    )
