"""`email`."""

from __future__ import annotations

from typing import Literal

from ir.rules.base import FieldRule


class Email(FieldRule):
    """The text must look like an email address: a name, @, and a domain with at least one dot. '' fails."""

    type: Literal["email"]
