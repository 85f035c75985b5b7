"""Hooks for apps above, called in the transaction that changes an alert."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from flowapp.alerts.models import Alert
from flowapp.hook import Hook

opened: Hook[[Alert], None] = Hook()
"""An alert was opened, or a warning has become an error."""
resolved: Hook[[Collection[UUID]], None] = Hook()
"""The alerts of these ids may have been resolved."""
