"""Watches queued runs: resends them, and raises an alert if no worker takes them."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db.models import Count, Q, QuerySet

from flowapp.accounts.models import Workspace
from flowapp.alerts.models import Alert, AlertState
from flowapp.alerts.services import raise_alert, resolve_by
from flowapp.clock import Now, from_now
from flowapp.processes.heartbeats import count_alive
from flowapp.runs.broker import send_run
from flowapp.runs.models import CLAIMABLE, COUNTED, OCCUPYING, Run, State
from flowapp.runs.run_kinds import list_yielding
from ir.words import counted

AT_ONCE = 500
STUCK_SECONDS = 600.0


def resend_queued(_: datetime) -> int:
    """Resend due runs that were not sent for a while, because messages may be lost and waiting runs become due.

    Runs that wait for the pipeline's running run are sent when that run ends. If runs that yield to others wait and
    none of them is running, the first of them gets its turn, so that others cannot delay them forever.
    """
    unsent = Q(sent_at=None, queued_at__lt=from_now(-settings.RESEND_SECONDS)) | Q(
        sent_at__lt=from_now(-settings.RESEND_SECONDS)
    )
    due = Run.objects.filter(state__in=CLAIMABLE, due_at__lte=Now()).filter(unsent).exclude(_is_held_back())
    sent, turn = 0, _next_yielding()
    for run in due.order_by("due_at").only("pk", "sent_at")[:AT_ONCE]:
        if Run.objects.filter(pk=run.pk, sent_at=run.sent_at, state__in=CLAIMABLE).update(sent_at=Now()):
            send_run(run.pk, in_turn=run.pk == turn)
            sent += 1
    return sent


def _next_yielding() -> UUID | None:
    """Return the run that has waited longest of those that yield to others; None while one of them is running."""
    yielding = Run.objects.filter(kind__in=list_yielding())
    if yielding.filter(state=State.RUNNING).exists():
        return None
    waiting = yielding.filter(state__in=CLAIMABLE, due_at__lte=Now()).exclude(sent_at=None)
    return waiting.order_by("queued_at", "number").values_list("pk", flat=True).first()


def _is_held_back() -> Q:
    """Return whether a run waits for a running, held or just approved run of its pipeline."""
    busy = Run.counted.filter(state__in=OCCUPYING).values("pipeline")
    return Q(pipeline__in=busy, kind__in=COUNTED) & ~Q(state=State.APPROVED)


def watch_workers(_: datetime) -> None:
    """Raise an alert when runs wait and no worker is alive."""
    if count_alive("worker"):
        resolve_by("worker.seen")
        return
    sent = Run.objects.filter(state__in=CLAIMABLE, due_at__lt=from_now(-5)).exclude(sent_at=None)
    for workspace, own in _concerned(sent):
        wait = f"{counted(own, 'run')} waiting" if own else "runs of other workspaces wait"
        raise_alert(
            "workers.none",
            "error",
            f"No worker is running; {wait}.",
            f"Start a worker (`flow up` does){_OR_ASK}",
            workspace=workspace,
        )


def watch_queue(_: datetime) -> None:
    """Raise an alert when workers are alive but do not claim a run that nothing blocks."""
    stuck = Run.objects.filter(state__in=CLAIMABLE, due_at__lt=from_now(-STUCK_SECONDS)).exclude(sent_at=None)
    concerned = _concerned(stuck.exclude(_is_held_back()))
    open_alerts = Alert.objects.filter(kind="queue.stuck").exclude(state=AlertState.RESOLVED)
    for over in open_alerts.exclude(workspace__in=[workspace for workspace, _ in concerned]):
        resolve_by("queue.empty", workspace_id=over.workspace_id)
    if not count_alive("worker"):
        return
    for workspace, own in concerned:
        who = counted(own, "run") if own else "Runs of other workspaces are"
        raise_alert(
            "queue.stuck",
            "warning",
            f"{who} waiting for over {STUCK_SECONDS / 60:g} min.",
            f"All workers may be busy. Add a worker, or check the broker{_OR_ASK}",
            workspace=workspace,
        )


_OR_ASK = ", or ask the administrator of this installation."


def _concerned(waiting: QuerySet[Run]) -> list[tuple[Workspace, int]]:
    """Return each workspace with its number of waiting runs, and the installation's first workspace, whose admins can
    fix the problem. A workspace learns of others only that runs wait."""
    counts = dict(waiting.order_by().values_list("workspace").annotate(Count("pk")))
    if not counts:
        return []
    named = Workspace.objects.filter(Q(pk__in=counts) | Q(slug=settings.FLOW_WORKSPACE)).order_by("slug")
    return [(workspace, counts.get(workspace.pk, 0)) for workspace in named]
