"""Errors of accounts."""

from __future__ import annotations

from ir.errors import FlowError


class AccountError(FlowError):
    """A user, token, password or link cannot be created or used."""
