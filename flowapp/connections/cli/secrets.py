"""`flow secrets`: encrypted secrets."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from flowapp.cli.outcome import Outcome, text_outcome
from flowapp.cli.parser import add_command, add_group
from ir.words import counted


def add_parser(commands: Any) -> None:
    group = add_group(commands, "secrets", "encrypted secrets")
    add_command(group, "rotate", rotate, "encrypt all secrets with the first key of FLOW_ENCRYPTION_KEYS")


def rotate(args: Namespace) -> Outcome:
    """Rotate the secrets of every workspace, because the keys belong to the installation."""
    from flowapp.connections.rotation import rotate_secrets

    done = rotate_secrets()
    return text_outcome(
        {"rotated": done},
        f"{counted(done, 'secret')} encrypted with the first key.",
        "Remove older keys after every process of this installation has started with the first key.",
    )
