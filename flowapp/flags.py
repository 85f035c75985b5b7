"""Read flags without Django, for commands that must start quickly."""

from __future__ import annotations

import os

from ir.errors import FlowError

TRUE, FALSE = {"1", "true", "yes", "on"}, {"0", "false", "no", "off", ""}


def read_flag(name: str) -> bool:
    """Return whether the flag of the environment is on. Raises FlowError `settings.invalid`."""
    value = os.environ.get(name, "").strip().lower()
    if value in TRUE | FALSE:
        return value in TRUE
    raise FlowError("settings.invalid", f"{name} is {value!r}.", hint="Use true or false.")
