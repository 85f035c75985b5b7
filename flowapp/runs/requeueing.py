"""Requeue a run, at once or after a wait."""

from __future__ import annotations

import random
from typing import Any

from django.db import transaction

from flowapp.clock import Now, from_now
from flowapp.pipelines.documents import read_document
from flowapp.runs.broker import send_next_of
from flowapp.runs.ends import error_fields
from flowapp.runs.holds import approved_loads
from flowapp.runs.leases import Claim
from flowapp.runs.load_units.models import UnitState
from flowapp.runs.load_units.services import release_units
from flowapp.runs.models import Run, State
from ir.errors import FlowError

LONGEST_BACKOFF = 3600.0
JITTER = 0.25
"""The maximum random part of a wait, as a share of the wait."""


def requeue(
    claim: Claim, run: Run, error: FlowError, seconds: float, *, state: State = State.QUEUED, **changes: Any
) -> None:
    """Requeue the run, due in the given seconds. An approved run stays ahead of all others."""
    # An inline run is not sent: its own process, or the next inline process, continues it.
    at_once = seconds <= 0 and run.sent_at is not None
    if approved_loads(run):
        state = State.APPROVED
    changes |= {
        "state": state,
        "due_at": from_now(seconds),
        "lease_owner": "",
        "lease_until": None,
        "step": "",
        "idle_since": Now(),
        **error_fields(error),
    }
    if at_once:
        changes["sent_at"] = Now()
    with transaction.atomic():
        release_units(run, UnitState.PENDING, "")
        if not claim.held().update(**changes):
            raise claim.lost()
        transaction.on_commit(lambda: send_next_of(run.pipeline_id))


def backoff(run: Run) -> float:
    """Return the seconds to wait after the failure that is being counted. A random part keeps runs that failed together
    from being tried again together."""
    retry = read_document(run.document).error_handling.retry
    growth = 2**run.failures if retry.backoff == "exponential" else 1
    seconds = min(retry.initial_seconds * growth, LONGEST_BACKOFF)
    return seconds * random.uniform(1, 1 + JITTER)  # noqa: S311 - nothing secret depends on it
