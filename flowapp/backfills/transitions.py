"""Change the phase of a backfill by compare-and-swap, and lock it."""

from __future__ import annotations

from typing import Any

from flowapp.backfills.models import Backfill
from flowapp.backfills.phases import Event, next_phase


class PhaseChanged(RuntimeError):
    """Another process has changed the phase."""


def move(backfill: Backfill, event: Event, **changes: Any) -> None:
    """Set the phase that follows on the event, together with other columns. Raises PhaseChanged, and ValueError if the
    phase does not allow the event."""
    phase = next_phase(backfill.phase, event)
    if not Backfill.objects.filter(pk=backfill.pk, phase=backfill.phase).update(phase=phase, **changes):
        raise PhaseChanged(f"{backfill} is not {backfill.phase} any more.")
    backfill.refresh_from_db()


def lock_backfill(backfill: Backfill) -> bool:
    """Lock a backfill until the end of the transaction, so that what people do with it comes before or after. Return
    whether it is paused or not as before."""
    unchanged = Backfill.objects.filter(pk=backfill.pk, paused=backfill.paused)
    return bool(unchanged.update(paused=backfill.paused))
