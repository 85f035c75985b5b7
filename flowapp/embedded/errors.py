"""The error of the embedded services."""

from __future__ import annotations

from ir.errors import FlowError


class EmbeddedError(FlowError):
    """The embedded database or broker cannot be used on this machine in its current state."""
