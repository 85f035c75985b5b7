"""One tick of the scheduler. Any number of schedulers may tick at once: every step claims by compare-and-swap."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from datetime import datetime

from django.conf import settings
from django.db import IntegrityError, connections, transaction
from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from flowapp.accounts.models import Workspace
from flowapp.backups.services import drop_old_backups
from flowapp.clock import from_now
from flowapp.health.alerts import raise_alert, resolve_by
from flowapp.health.heartbeats import forget_dead
from flowapp.health.models import Alert, AlertState
from flowapp.health.selectors import count_alive
from flowapp.pipelines.remains import clear_up_remains
from flowapp.quarantine.purging import go_on_with_purges, purge_old_rows
from flowapp.runs.broker import send_run
from flowapp.runs.holds import expire_holds
from flowapp.runs.janitor import delete_old_rows, delete_old_samples, drop_old_row_samples, sweep_staging
from flowapp.runs.models import CLAIMABLE, COUNTED, OCCUPYING, Chore, Run, State
from flowapp.runs.recovery import take_back_lost
from flowapp.runs.schedules import fire_due
from ir.words import counted

logger = logging.getLogger(__name__)
AT_ONCE = 500
STUCK_SECONDS = 600.0


def tick(steps: Steps, now: datetime | None = None) -> None:
    """Do what is due of these. `now` is for schedules alone; leases and queues go by the database's clock.

    A step that fails is logged and does not keep the others from being done.
    """
    moment = now or timezone.now()
    for name, step in steps:
        try:
            step(moment)
        except Exception:
            logger.exception("Scheduler step %s failed", name)
            connections.close_all()


def resend_queued(_: datetime) -> int:
    """Send again what is due and was not sent for a while: messages may be lost, and waiting runs come due.

    What waits for its pipeline's running run is sent when that ends.
    """
    unsent = Q(sent_at=None, queued_at__lt=from_now(-settings.RESEND_SECONDS)) | Q(
        sent_at__lt=from_now(-settings.RESEND_SECONDS)
    )
    due = Run.objects.filter(state__in=CLAIMABLE, due_at__lte=Now()).filter(unsent).exclude(_is_held_back())
    sent = 0
    for run in due.order_by("due_at").only("pk", "sent_at")[:AT_ONCE]:
        if Run.objects.filter(pk=run.pk, sent_at=run.sent_at, state__in=CLAIMABLE).update(sent_at=Now()):
            send_run(run.pk)
            sent += 1
    return sent


def _is_held_back() -> Q:
    """A run that counts and whose pipeline has a running one, or one that is held or just approved."""
    busy = Run.counted.filter(state__in=OCCUPYING).values("pipeline")
    return Q(pipeline__in=busy, purpose__in=COUNTED) & ~Q(state=State.APPROVED)


def watch_workers(_: datetime) -> None:
    """Tell when runs wait and nobody is there to take them."""
    if count_alive("worker"):
        resolve_by("worker.seen")
        return
    sent = Run.objects.filter(state__in=CLAIMABLE, due_at__lt=from_now(-5)).exclude(sent_at=None)
    for workspace, own in _concerned(sent):
        wait = f"{counted(own, 'run')} waiting" if own else "runs of other workspaces wait"
        raise_alert(
            "workers.none",
            "error",
            f"No worker is alive; {wait}.",
            f"Start a worker (`flow up` does){_OR_TELL}",
            workspace=workspace,
        )


def watch_queue(_: datetime) -> None:
    """Tell when workers live and yet a run that nothing holds back is not taken."""
    stuck = Run.objects.filter(state__in=CLAIMABLE, due_at__lt=from_now(-STUCK_SECONDS)).exclude(sent_at=None)
    concerned = _concerned(stuck.exclude(_is_held_back()))
    told = Alert.objects.filter(kind="queue.stuck").exclude(state=AlertState.RESOLVED)
    for over in told.exclude(workspace__in=[workspace for workspace, _ in concerned]):
        resolve_by("queue.empty", workspace_id=over.workspace_id)
    if not count_alive("worker"):
        return
    for workspace, own in concerned:
        who = counted(own, "run") if own else "Runs of other workspaces are"
        raise_alert(
            "queue.stuck",
            "warning",
            f"{who} waiting for over {STUCK_SECONDS / 60:g} minutes.",
            f"All workers may be busy: add one or look at the broker{_OR_TELL}",
            workspace=workspace,
        )


_OR_TELL = ", or tell whoever runs this installation."


def _concerned(waiting: QuerySet[Run]) -> list[tuple[Workspace, int]]:
    """Each workspace of which runs wait, with how many of its own; and, for it can mend it, the one that the
    installation began with. None is told anything of another's runs but that there are some."""
    counts = dict(waiting.order_by().values_list("workspace").annotate(Count("pk")))
    if not counts:
        return []
    named = Workspace.objects.filter(Q(pk__in=counts) | Q(slug=settings.FLOW_WORKSPACE)).order_by("slug")
    return [(workspace, counts.get(workspace.pk, 0)) for workspace in named]


def claim_chore(name: str, seconds: float) -> bool:
    """Whether this process is to do a chore that is done every so many seconds by one process."""
    if Chore.objects.filter(name=name, due_at__lte=Now()).update(due_at=from_now(seconds)):
        return True
    try:
        with transaction.atomic():
            return Chore.objects.get_or_create(name=name, defaults={"due_at": from_now(seconds)})[1]
    except IntegrityError:
        return False


def every(seconds: float, name: str, chore: Callable[[datetime], object]) -> Callable[[datetime], None]:
    """The chore as a step that does nothing until its time has come."""

    def step(now: datetime) -> None:
        if claim_chore(name, seconds):
            chore(now)

    return step


Steps = Sequence[tuple[str, Callable[[datetime], object]]]

ON_TIME: Steps = (
    ("fire schedules", fire_due),
    ("send queued runs again", resend_queued),
    ("watch workers", every(10, "watch_workers", watch_workers)),
    ("watch the queue", every(60, "watch_queue", watch_queue)),
    ("delete old samples", every(300, "delete_old_samples", lambda _: delete_old_samples())),
    ("delete old rows", every(3600, "delete_old_rows", lambda _: delete_old_rows())),
    ("forget dead processes", every(3600, "forget_dead", lambda _: forget_dead())),
)
"""What asks the control database alone: schedules fire in time however many targets do not answer."""
ENDING_RUNS: Steps = (
    ("take back lost runs", lambda _: take_back_lost()),
    ("expire holds", every(60, "expire_holds", lambda _: expire_holds())),
)
"""What asks the targets of runs that others wait for."""
CLEARING_UP: Steps = (
    ("drop old backups", every(3600, "drop_old_backups", lambda _: drop_old_backups())),
    ("drop old row samples", every(3600, "drop_old_row_samples", lambda _: drop_old_row_samples())),
    ("clear up after deleted pipelines", every(3600, "clear_up_remains", lambda _: clear_up_remains())),
    ("purge rejected rows", every(3600, "purge_old_rows", lambda _: purge_old_rows())),
    ("go on with purges", every(30, "go_on_with_purges", lambda _: go_on_with_purges())),
    ("sweep staging", every(3600, "sweep_staging", lambda _: sweep_staging())),
)
"""What asks every target, and may wait for each that does not answer."""
BESIDE = {"runs' ends": ENDING_RUNS, "clearing up": CLEARING_UP}
"""What has a thread of its own each."""


class StepsThread(threading.Thread):
    """Ticks until `stop` is called, beside the loop that fires schedules."""

    def __init__(self, name: str, steps: Steps, seconds: float) -> None:
        super().__init__(name=name, daemon=True)
        self._steps, self._seconds, self._stopped = steps, seconds, threading.Event()

    def run(self) -> None:
        try:
            while not self._stopped.is_set():
                tick(self._steps)
                self._stopped.wait(self._seconds)
        finally:
            connections.close_all()

    def stop(self) -> None:
        """Let it end after the step that it is at, which is waited for a while."""
        self._stopped.set()
        self.join(timeout=10)
