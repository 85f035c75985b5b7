"""Store the counts of a finished run in its own columns, so that lists can be sorted by them."""

from __future__ import annotations

from uuid import UUID

from flowapp.runs.durations import seconds_of
from flowapp.runs.models import Run
from flowapp.runs.selectors import sum_loads


def store_sort_values(run_id: UUID) -> None:
    """Store the counts. Call it in the transaction that ends the run."""
    run = Run.objects.defer("report", "timeline").get(pk=run_id)
    load = sum_loads([run]).get(run_id, {})
    Run.objects.filter(pk=run_id).update(
        seconds=seconds_of(run), rows_loaded=load.get("loaded"), rows_rejected=load.get("rejected")
    )
