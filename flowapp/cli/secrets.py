"""`flow secrets`: what is stored encrypted."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from flowapp.cli.outcome import Outcome, said
from flowapp.cli.parser import add_command, add_group
from ir.words import counted


def add_parser(commands: Any) -> None:
    group = add_group(commands, "secrets", "what is stored encrypted")
    add_command(group, "rotate", rotate, "encrypt all of it under the first of FLOW_ENCRYPTION_KEYS")


def rotate(args: Namespace) -> Outcome:
    """In every workspace: keys are the installation's."""
    from flowapp.connections.rotation import rotate_secrets

    done = rotate_secrets()
    return said(
        {"rotated": done},
        f"{counted(done, 'secret')} encrypted under the first key.",
        "Older keys can go, once every process of this installation has been started with the first one.",
    )
