"""Raising and resolving alerts. The table says for each kind what resolves it by itself."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F
from django.db.models.functions import Now

from flowapp.health.models import Alert, AlertState
from ir.errors import FlowError

if TYPE_CHECKING:
    from flowapp.accounts.models import User, Workspace
    from flowapp.pipelines.models import Pipeline
    from flowapp.runs.models import Run

Event = Literal[
    "run.succeeded",
    "hooks.done",
    "worker.seen",
    "queue.empty",
    "schedule.on_time",
    "fence.raised",
    "hold.decided",
    "person",
    "rows.in_band",
]
LONGEST_MESSAGE = 2000


@dataclass(frozen=True, slots=True)
class AlertKind:
    """`resolved_by` is the event that ends alerts of this kind; `person` means that only people do."""

    kind: str
    resolved_by: Event


KINDS = (
    AlertKind("run.failed", "run.succeeded"),
    AlertKind("run.held", "hold.decided"),
    AlertKind("worker.lost", "run.succeeded"),
    AlertKind("workers.none", "worker.seen"),
    AlertKind("queue.stuck", "queue.empty"),
    AlertKind("schedule.missed", "schedule.on_time"),
    AlertKind("schedule.broken", "schedule.on_time"),
    AlertKind("target.unreachable_for_fence", "fence.raised"),
    AlertKind("staging.leftovers", "person"),
    AlertKind("source.missed", "run.succeeded"),
    AlertKind("source.empty", "run.succeeded"),
    AlertKind("quarantine.unwritable", "run.succeeded"),
    AlertKind("hook.failed", "hooks.done"),
    AlertKind("rows.out_of_band", "rows.in_band"),
)
RAISED_BY_GOOD_RUNS = ("source.missed", "source.empty")
"""What a run may raise and yet succeed; other trouble of its earlier attempts is over when it has succeeded."""


def make_table(kinds: tuple[AlertKind, ...]) -> dict[str, AlertKind]:
    table = {kind.kind: kind for kind in kinds}
    if len(table) != len(kinds):
        raise ValueError("An alert kind is listed twice.")
    return table


ALERT_KINDS = make_table(KINDS)


def alert_kind(kind: str) -> AlertKind:
    if kind not in ALERT_KINDS:
        raise KeyError(f"No alert kind {kind!r}; known: {', '.join(sorted(ALERT_KINDS))}.")
    return ALERT_KINDS[kind]


def fingerprint_of(kind: str, workspace_id: UUID | None, pipeline_id: UUID | None, node: str) -> str:
    """The same trouble: the same kind at the same place."""
    return hashlib.sha256(f"{kind}\n{workspace_id}\n{pipeline_id}\n{node}".encode()).hexdigest()


def raise_alert(
    kind: str,
    severity: Literal["warning", "error"],
    message: str,
    next_step: str,
    *,
    workspace: Workspace | None = None,
    pipeline: Pipeline | None = None,
    run: Run | None = None,
    node: str = "",
) -> None:
    """Open an alert, or count one more of an alert that is not resolved yet.

    The workspace is the pipeline's, if there is one. An acknowledged alert stays acknowledged.
    """
    workspace_id = pipeline.workspace_id if pipeline else workspace.pk if workspace else None
    pipeline_id = pipeline.pk if pipeline else None
    fingerprint = fingerprint_of(alert_kind(kind).kind, workspace_id, pipeline_id, node)
    latest = {
        "severity": severity,
        "message": message[:LONGEST_MESSAGE],
        "next_step": next_step,
        "run": run,
        "last_seen_at": Now(),
    }
    if _count_again(fingerprint, latest):
        return
    try:
        with transaction.atomic():
            Alert.objects.create(
                kind=kind, workspace_id=workspace_id, pipeline_id=pipeline_id, node=node, fingerprint=fingerprint,
                first_seen_at=Now(), **latest,
            )  # fmt: skip
    except IntegrityError:  # another process opened it since
        _count_again(fingerprint, latest)


def _count_again(fingerprint: str, latest: dict[str, object]) -> bool:
    open_ones = Alert.objects.filter(fingerprint=fingerprint).exclude(state=AlertState.RESOLVED)
    return bool(open_ones.update(count=F("count") + 1, **latest))


def resolve_by(event: Event, *, pipeline_id: UUID | None = None, by: Run | None = None, node: str | None = None) -> int:
    """Resolve what this event ends (of this pipeline and node, if they are given); returns how many.

    `by` is the run that the event is of: what it has raised itself stays open.
    """
    kinds = [kind.kind for kind in KINDS if kind.resolved_by == event]
    ended = Alert.objects.filter(kind__in=kinds, pipeline_id=pipeline_id).exclude(state=AlertState.RESOLVED)
    if node is not None:
        ended = ended.filter(node=node)
    if by is not None:
        ended = ended.exclude(run=by, kind__in=RAISED_BY_GOOD_RUNS)
    return ended.update(state=AlertState.RESOLVED, resolved_at=Now())


def acknowledge(alert: Alert, user: User | None = None) -> None:
    """Say that somebody looks after it. Raises FlowError when it is no longer open."""
    changed = Alert.objects.filter(pk=alert.pk, state=AlertState.OPEN).update(
        state=AlertState.ACKNOWLEDGED, acknowledged_by=user, acknowledged_at=Now()
    )
    _refuse_unless(changed, alert, "acknowledge")


def resolve(alert: Alert) -> None:
    """Close it by hand. Raises FlowError when it is resolved already."""
    unresolved = Alert.objects.filter(pk=alert.pk).exclude(state=AlertState.RESOLVED)
    _refuse_unless(unresolved.update(state=AlertState.RESOLVED, resolved_at=Now()), alert, "resolve")


def _refuse_unless(changed: int, alert: Alert, action: str) -> None:
    if not changed:
        alert.refresh_from_db()
        raise FlowError(
            "alert.state",
            f"Cannot {action} alert {alert.pk}: it is {alert.state}.",
            hint="An alert goes from open to acknowledged to resolved; the same trouble again opens a new one.",
        )
