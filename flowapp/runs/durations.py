"""How long workers executed a run and how long it waited."""

from __future__ import annotations

from django.utils import timezone

from flowapp.runs.models import Run


def seconds_of(run: Run) -> float | None:
    """Return the seconds of execution so far, without waits between attempts; None before the start."""
    if run.started_at is None:
        return None
    until = run.idle_since or run.ended_at or timezone.now()
    return max(0.0, (until - run.started_at).total_seconds() - run.idle_seconds)


def idle_seconds_of(run: Run) -> float:
    """Return the seconds of waiting since the start: for a decision, for files, or for the next attempt."""
    since = ((run.ended_at or timezone.now()) - run.idle_since).total_seconds() if run.idle_since else 0.0
    return run.idle_seconds + since
