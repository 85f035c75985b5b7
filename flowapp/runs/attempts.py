"""Attempts of a run that failed and were retried."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from flowapp.error_codes import ERROR_CODES
from flowapp.logs import redact
from flowapp.runs.models import Run
from ir.errors import FlowError


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """A failed attempt. `due` is when the next attempt could begin. `number` counts the attempts that the pipeline
    allows, `attempt` counts all claims: a lost worker and a wait for files do not count against the pipeline's
    limit."""

    number: int
    attempt: int
    failed: str
    due: str
    code: str
    node: str
    message: str
    counts: bool

    @property
    def failed_at(self) -> datetime:
        return datetime.fromisoformat(self.failed)

    @property
    def due_at(self) -> datetime:
        return datetime.fromisoformat(self.due)


def is_transient(error: FlowError) -> bool:
    """Return whether a retry may help, by the error's code. An unknown code is permanent."""
    return error.code in ERROR_CODES and ERROR_CODES[error.code].is_transient


def with_failure(run: Run, error: FlowError, seconds: float, *, counts: bool = True) -> list[dict[str, Any]]:
    """Return the failed attempts of a run, including the one that has just failed. It is retried in the given
    seconds."""
    now = timezone.now()
    failed = FailedAttempt(
        number=run.failures + 1,
        attempt=run.attempt,
        failed=now.isoformat(),
        due=(now + timedelta(seconds=seconds)).isoformat(),
        code=error.code,
        node=error.node or "",
        message=redact(error.message),
        counts=counts,
    )
    return [*run.failed_attempts, asdict(failed)]


def list_failed_attempts(run: Run) -> list[FailedAttempt]:
    return [FailedAttempt(**stored) for stored in run.failed_attempts]
