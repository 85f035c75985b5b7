"""Secrets from standard input, where neither the shell's history nor the list of processes shows them."""

from __future__ import annotations

import sys

from flowapp.cli.exits import UsageError


def read_secret(option: str) -> str:
    """Standard input without its last line end; raises UsageError."""
    text = sys.stdin.read()
    secret = text[: -len("\n")] if text.endswith("\n") else text
    secret = secret.removesuffix("\r")
    if not secret or "\n" in secret:
        raise UsageError(f"{option} expects only the secret on standard input", command="flow")
    return secret
