"""The retention of the audit log of rejected rows."""

from __future__ import annotations

from flowapp.clock import from_now
from flowapp.processes.retention import AT_ONCE, DAY, Retention
from flowapp.quarantine.models import RowDecision, RowJob, Selection, ViolationTotal
from flowapp.quarantine.totals import BLOCK_DAYS, MOST_DAYS

RETENTION = (
    Retention("Selections of rejected rows (ids)", Selection, "made_at", 7),
    Retention("History of decisions about rejected rows", RowDecision, "at", 730),
    Retention("Totals of violations by day", ViolationTotal, "starts", MOST_DAYS + BLOCK_DAYS),
)
ROW_IDS_DAYS = 7
"""How long it is kept which rows a replay was about, by their ids."""


def forget_row_ids() -> None:
    """A run that has ended needs them no more: what became of each row is told beside its table. What stays says what
    the run was to do, and why."""
    over = RowJob.objects.filter(rows__isnull=False, run__ended_at__lt=from_now(-ROW_IDS_DAYS * DAY))
    while keys := list(over.values_list("pk", flat=True)[:AT_ONCE]):
        RowJob.objects.filter(pk__in=keys).update(rows=None)
