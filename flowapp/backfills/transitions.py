"""Change the phase of a backfill by compare-and-swap, and lock it.

Order of locks: a transaction that writes several of these rows locks them in this order, so that no two of them wait
for each other:

1. the run that it ends, by its claim;
2. the pipeline, as each request for a run does (`lock_pipeline`);
3. the backfill, then its chunks;
4. the parked run, then alerts.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from flowapp.backfills.models import Backfill
from flowapp.backfills.phases import Event, next_phase
from flowapp.pipelines.models import Pipeline


class PhaseChanged(RuntimeError):
    """Another process has changed the phase."""


def move(backfill: Backfill, event: Event, **changes: Any) -> None:
    """Set the phase that follows on the event, together with other columns. Raises PhaseChanged, and ValueError if the
    phase does not allow the event."""
    phase = next_phase(backfill.phase, event)
    if not Backfill.objects.filter(pk=backfill.pk, phase=backfill.phase).update(phase=phase, **changes):
        raise PhaseChanged(f"{backfill} is not {backfill.phase} any more.")
    backfill.refresh_from_db()


def lock_pipeline(pipeline_id: UUID) -> None:
    """Lock the pipeline until the end of the transaction. Call it before the transaction writes a backfill or a
    chunk."""
    list(Pipeline.objects.select_for_update(no_key=True).filter(pk=pipeline_id).values_list("pk"))


def lock_backfill(backfill: Backfill) -> bool:
    """Lock a backfill until the end of the transaction, so that what people do with it comes before or after. Return
    whether it is paused or not as before, with the same phase and run."""
    unchanged = Backfill.objects.filter(
        pk=backfill.pk, paused=backfill.paused, phase=backfill.phase, run=backfill.run_id
    )
    return bool(unchanged.update(paused=backfill.paused))
