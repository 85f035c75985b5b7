"""Why the embedded services cannot serve."""

from __future__ import annotations

from ir.errors import FlowError


class EmbeddedError(FlowError):
    """The embedded database or broker cannot be used on this machine as things stand."""
