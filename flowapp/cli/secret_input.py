"""Read secrets from standard input, so that neither the shell's history nor the process list shows them."""

from __future__ import annotations

import sys

from flowapp.cli.exits import UsageError


def read_secret(option: str, *, has_lines: bool = False) -> str:
    """Return standard input without its last line end. Raises UsageError for several lines, unless `has_lines`."""
    text = sys.stdin.read()
    secret = text[: -len("\n")] if text.endswith("\n") else text
    secret = secret.removesuffix("\r")
    if not secret or ("\n" in secret and not has_lines):
        raise UsageError(f"{option} expects only the secret on standard input", command="flow")
    return secret
