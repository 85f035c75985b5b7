"""Throwing rejected rows away: when a person asks, with a reason, and when they are past their time."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import groupby

from django.utils import timezone

from executors.postgres.quarantine_pages import count_older, delete_older
from flowapp.accounts.models import Workspace
from flowapp.quarantine.models import Retention
from flowapp.quarantine.places import Place, places_of
from flowapp.quarantine.records import note_decision
from flowapp.quarantine.selectors import Wanted, narrow, owner_of, reach
from flowapp.runs.holds import Decider
from ir.errors import FlowError

logger = logging.getLogger(__name__)
BY_TIME = Decider("retention")
MOST_DAYS = 36_500
MOST_BY_TIME = 500_000
"""Entries of one table that go at once when they are past their time: whoever does it has other chores."""


def rows_to_purge(workspace: Workspace, wanted: Wanted, days: int) -> int:
    """How many entries would go."""
    before, narrowed = _before(days), narrow(workspace, wanted)
    return sum(
        count_older(reached, owner_of(workspace, place), place.table, narrowed, before)
        for place, reached in reach(workspace, places_of(workspace, wanted.pipeline, wanted.run))
    )


def purge(workspace: Workspace, wanted: Wanted, days: int, by: Decider, reason: str, most: int | None = None) -> int:
    """Delete what is older, of each table about `most` entries at the most; returns how many went. What nobody has
    decided about goes as well. Raises FlowError, and Failure where a database does not answer."""
    if not reason.strip():
        raise FlowError("errors.reason_required", "Throwing rows away needs a reason.", hint="Say why; it is kept.")
    if wanted.search:
        raise FlowError("purge.search", "Rows are not thrown away by what stands in them.",
                        hint="Narrow them down by pipeline, run, rule, field or status.")  # fmt: skip
    places = places_of(workspace, wanted.pipeline, wanted.run)
    return _throw_away(workspace, wanted, places, days, by, reason, most)


def _throw_away(
    workspace: Workspace, wanted: Wanted, places: Iterable[Place], days: int, by: Decider, reason: str, most: int | None
) -> int:
    before, narrowed = _before(days), narrow(workspace, wanted)
    gone = 0
    try:
        for place, reached in reach(workspace, places):
            gone += delete_older(reached, owner_of(workspace, place), place.table, narrowed, before, most)
    finally:
        # What is gone is gone, also where another database does not answer.
        if gone:
            note_decision(workspace, wanted.pipeline or (wanted.run and wanted.run.pipeline), "purge", by, rows=gone,
                          reason=reason, details={"wanted": wanted.words(), "olderThanDays": days})  # fmt: skip
    return gone


def set_retention(workspace: Workspace, days: int | None, by: Decider) -> None:
    """From now on keep rejected rows for so many days; None keeps them until somebody throws them away."""
    if days is None:
        Retention.objects.filter(workspace=workspace).delete()
    else:
        _before(days)
        Retention.objects.update_or_create(workspace=workspace, defaults={"days": days})
    note_decision(workspace, None, "retention", by, rows=0, details={"days": days})


def _before(days: int) -> datetime:
    """The moment so many days ago; raises FlowError where no calendar goes back so far."""
    if not 0 <= days <= MOST_DAYS:
        raise FlowError("purge.days_invalid", f"{days:,} days are too many.", hint=f"Give up to {MOST_DAYS:,}.")
    return timezone.now() - timedelta(days=days)


def retention_of(workspace: Workspace) -> int | None:
    return Retention.objects.filter(workspace=workspace).values_list("days", flat=True).first()


def purge_old_rows() -> int:
    """Delete what is past its time, in every workspace that wants it, by each of its connections that answers."""
    gone = 0
    for kept in Retention.objects.select_related("workspace").order_by("pk"):
        try:
            places = sorted(places_of(kept.workspace, None, None), key=_connection)
        except FlowError as error:
            logger.warning("Rejected rows of workspace %s were not thrown away: %s", kept.workspace, error)
            continue
        for name, here in groupby(places, key=_connection):
            gone += _throw_away_old(kept, name, list(here))
    return gone


def _throw_away_old(kept: Retention, connection: str, places: list[Place]) -> int:
    why = f"Older than {kept.days} days."
    try:
        return _throw_away(kept.workspace, Wanted(), places, kept.days, BY_TIME, why, MOST_BY_TIME)
    except FlowError as error:
        logger.warning(
            "Rejected rows of workspace %s were not all thrown away by connection %s: %s",
            kept.workspace, connection, error,
        )  # fmt: skip
        return 0


def _connection(place: Place) -> str:
    return place.connection
