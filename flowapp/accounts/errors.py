"""What goes wrong with accounts."""

from __future__ import annotations

from ir.errors import FlowError


class AccountError(FlowError):
    """A user, token, password or link that cannot be made or used."""
