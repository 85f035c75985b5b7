"""Use the control database's clock, so that machines with wrong clocks agree on leases."""

from __future__ import annotations

from datetime import timedelta

from django.db.models.expressions import Combinable
from django.db.models.functions import Now


def from_now(seconds: float) -> Combinable:
    """Return an SQL expression for the time that many seconds from now; negative values are in the past."""
    return Now() + timedelta(seconds=seconds)
