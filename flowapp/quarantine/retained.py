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
"""The number of days for which the ids of a replay's rows are stored."""


def forget_row_ids() -> None:
    """Delete the row ids of finished runs. The results are stored beside the target's table, and the decision is
    retained."""
    over = RowJob.objects.filter(rows__isnull=False, run__ended_at__lt=from_now(-ROW_IDS_DAYS * DAY))
    while keys := list(over.values_list("pk", flat=True)[:AT_ONCE]):
        RowJob.objects.filter(pk__in=keys).update(rows=None)
