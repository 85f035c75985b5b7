"""Claim a run and renew its lease. A claim is (run, attempt, owner); only a process that holds all three may write."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, IntegrityError, InterfaceError, connections, transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Coalesce

from executors.errors import Cancelled, Failure, LeaseLost, Transient
from flowapp.clock import Now, from_now
from flowapp.logs import log_crash
from flowapp.pipelines.models import Pipeline
from flowapp.runs.broker import is_leaving
from flowapp.runs.models import CLAIMABLE, Run, State

logger = logging.getLogger(__name__)
LOOK_SECONDS = 1.0


class WorkerStopping(Transient):
    """The process that executes the run is shutting down. Another process continues the run; nothing counts against
    it."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One attempt at one run by one owner. `token` is the fence token."""

    run_id: UUID
    pipeline_id: UUID
    attempt: int
    token: int
    owner: str

    def held(self) -> QuerySet[Run]:
        """Return the run if this claim still holds it. Every write of a worker uses this query."""
        return Run.objects.filter(pk=self.run_id, attempt=self.attempt, lease_owner=self.owner, state=State.RUNNING)

    def guard(self) -> None:
        """Raise LeaseLost unless the claim holds. In a transaction, the claim then holds until its end."""
        if not self.held().update(lease_owner=self.owner):
            raise self.lost()

    def lost(self) -> LeaseLost:
        return LeaseLost("run.lease_lost", f"Attempt {self.attempt} of run {self.run_id} is no longer this worker's.")


def claim_run(run_id: UUID | str, owner: str) -> Claim | None:
    """Claim a due run with its next fence token.

    Returns None if another worker holds it, it has ended, it is not due, or another run of its pipeline is running (it
    then stays queued).
    """
    try:
        with transaction.atomic():
            if not _take(Run.objects.filter(pk=run_id, state__in=CLAIMABLE, due_at__lte=Now()), owner):
                return None
            run = Run.objects.annotate(idle=Now() - F("idle_since")).get(pk=run_id)
            token = next_token(run.pipeline_id)
            idle = run.idle_seconds + (run.idle.total_seconds() if run.idle else 0)
            Run.objects.filter(pk=run.pk).update(token=token, idle_seconds=idle, idle_since=None)
    except IntegrityError:  # A constraint allows one running run per pipeline.
        return None
    return Claim(run.pk, run.pipeline_id, run.attempt, token, owner)


def _take(due: QuerySet[Run], owner: str) -> int:
    return due.update(
        state=State.RUNNING,
        attempt=F("attempt") + 1,
        lease_owner=owner,
        lease_until=from_now(settings.LEASE_SECONDS),
        started_at=Coalesce(F("started_at"), Now()),
        step="",
        outcome="",
        error_code="",
        error_node="",
        error_message="",
        error_hint="",
        error_detail="",
    )


def next_token(pipeline_id: UUID) -> int:
    """Increment the pipeline's fence counter. Call it in a transaction, so that no other process gets the token."""
    Pipeline.objects.filter(pk=pipeline_id).update(fence_counter=F("fence_counter") + 1)
    return Pipeline.objects.values_list("fence_counter", flat=True).get(pk=pipeline_id)


def take_over(run: Run, owner: str) -> Claim | None:
    """Take over a run with an expired lease, with a new token; return None if another process was faster.

    From here on the old holder can write nothing.
    """
    with transaction.atomic():
        expired = Run.objects.filter(
            pk=run.pk, state=State.RUNNING, attempt=run.attempt, lease_owner=run.lease_owner, lease_until__lt=Now()
        )
        if not expired.update(lease_owner=owner, lease_until=from_now(settings.LEASE_SECONDS)):
            return None
        token = next_token(run.pipeline_id)
        Run.objects.filter(pk=run.pk).update(token=token)
    return Claim(run.pk, run.pipeline_id, run.attempt, token, owner)


_renewers: set[LeaseRenewer] = set()


def interrupt_all() -> None:
    """Requeue every run of this process, which is shutting down. Returns immediately."""
    for renewer in list(_renewers):
        renewer.release()


class LeaseRenewer(threading.Thread):
    """Renew a claim's lease; end the run on cancellation, on the time limit, or when another owner takes over.

    It is the engine's `Cancellation`: the engine calls `check`, and is interrupted repeatedly until it stops.
    """

    def __init__(self, claim: Claim, max_seconds: float) -> None:
        super().__init__(name=f"lease-{claim.run_id}", daemon=True)
        self._claim = claim
        self._renewed = time.monotonic()
        self._deadline = self._renewed + max_seconds
        self._max_seconds = max_seconds
        self._reason: Failure | None = None
        self._interrupt: Callable[[], None] | None = None
        self._stopped = threading.Event()

    @property
    def reason(self) -> Failure | None:
        """Return the reason why the run must end, or None."""
        return self._reason

    def restart_limit(self) -> None:
        """Start the time limit again: a part of the run begins to which the limit applies."""
        self._deadline = time.monotonic() + self._max_seconds

    def check(self) -> None:
        if self._reason is not None:
            raise self._reason

    def on_cancel(self, interrupt: Callable[[], None]) -> None:
        self._interrupt = interrupt

    def release(self) -> None:
        """Requeue the run as soon as the engine stops."""
        if self._reason is None:
            self._reason = WorkerStopping("worker.stopping", "The worker was stopped. The run is requeued.")

    def run(self) -> None:
        _renewers.add(self)
        try:
            while not self._stopped.wait(min(LOOK_SECONDS, settings.LEASE_SECONDS / 3)):
                self._look()
                self._interrupt_engine()
        finally:
            _renewers.discard(self)
            connections.close_all()

    def stop(self) -> None:
        self._stopped.set()
        self.join(timeout=10)

    def _interrupt_engine(self) -> None:
        """Interrupt the engine. An error does not end the thread, which must keep renewing the lease; it interrupts
        again later."""
        try:
            if self._reason is not None and self._interrupt is not None:
                self._interrupt()
        except Exception as error:  # noqa: BLE001 - log_crash logs it without row values
            log_crash(logger, f"Run {self._claim.run_id} could not be interrupted", error)

    def _look(self) -> None:
        if is_leaving():  # since before this renewer began
            self.release()
        now = time.monotonic()
        try:
            self._reason = self._reason_in_database(now) or self._reason
        except (DatabaseError, InterfaceError) as error:
            logger.warning("Lease of run %s not renewed: %s", self._claim.run_id, type(error).__name__)
            connections.close_all()
        if now - self._renewed > settings.LEASE_SECONDS:
            self._reason = self._claim.lost()  # another process may hold it by now
        elif now > self._deadline and self._reason is None:
            self._reason = self._over_limit()

    def _reason_in_database(self, now: float) -> Failure | None:
        """Renew the lease when due and check for cancellation every time, in one small query."""
        if now - self._renewed > settings.LEASE_SECONDS / 3:
            if not self._claim.held().update(lease_until=from_now(settings.LEASE_SECONDS)):
                return self._claim.lost()
            self._renewed = now
        wanted = self._claim.held().values_list("cancel_requested", flat=True).first()
        if wanted is None:
            return self._claim.lost()
        return Cancelled("run.cancelled", "The run was cancelled by a person.") if wanted else None

    def _over_limit(self) -> Cancelled:
        return Cancelled(
            "run.time_limit",
            f"The run took longer than its limit of {self._max_seconds / 60:g} min.",
            hint="Raise errorHandling.maxMinutes, or load less at a time.",
        )
