"""Raise and resolve alerts, and queue channel messages in the same transaction."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet

from flowapp.alerts import events
from flowapp.alerts.kinds import ALERT_KINDS, Event, kinds_ended_by
from flowapp.alerts.models import Alert, AlertState, Severity
from flowapp.clock import Now
from ir.errors import FlowError

if TYPE_CHECKING:
    from flowapp.accounts.models import User, Workspace
    from flowapp.pipelines.models import Pipeline

LONGEST_MESSAGE = 2000
RAISED_BY_GOOD_RUNS = ("source.missed", "source.empty")
"""Alerts that a successful run may raise itself. All other alerts of its earlier attempts are resolved when it
succeeds."""


class RunLike(Protocol):
    """The attributes of a run that an alert stores."""

    @property
    def pk(self) -> UUID: ...

    @property
    def number(self) -> int: ...


def fingerprint_of(kind: str, workspace_id: UUID, pipeline_id: UUID | None, node: str) -> str:
    """Return the fingerprint of a problem: its kind and its location."""
    return hashlib.sha256(f"{kind}\n{workspace_id}\n{pipeline_id}\n{node}".encode()).hexdigest()


def raise_alert(
    kind: str,
    severity: Literal["warning", "error"],
    message: str,
    next_step: str,
    *,
    workspace: Workspace | None = None,
    pipeline: Pipeline | None = None,
    run: RunLike | None = None,
    node: str = "",
) -> None:
    """Open an alert, or count a repetition of an alert that is not resolved yet.

    The alert belongs to the pipeline's workspace if there is a pipeline. An acknowledged alert stays acknowledged.
    """
    owner = pipeline.workspace_id if pipeline else workspace.pk if workspace else None
    if owner is None:
        raise TypeError("an alert needs a pipeline or a workspace")
    pipeline_id = pipeline.pk if pipeline else None
    fingerprint = fingerprint_of(ALERT_KINDS[kind].kind, owner, pipeline_id, node)
    latest: dict[str, Any] = {
        "severity": severity,
        "message": message[:LONGEST_MESSAGE],
        "next_step": next_step,
        "run_id": run.pk if run else None,
        "run_number": run.number if run else None,
        "last_seen_at": Now(),
    }
    if _count_again(fingerprint, latest):
        return
    try:
        with transaction.atomic():
            alert = Alert.objects.create(
                kind=kind,
                workspace_id=owner,
                pipeline_id=pipeline_id,
                node=node,
                fingerprint=fingerprint,
                first_seen_at=Now(),
                **latest,
            )
            events.opened(alert)
    except IntegrityError:  # Another process has opened it meanwhile.
        _count_again(fingerprint, latest)


def _count_again(fingerprint: str, latest: Mapping[str, Any]) -> bool:
    """Count a repetition. If a warning becomes an error, notify channels that only report errors."""
    unresolved = Alert.objects.filter(fingerprint=fingerprint).exclude(state=AlertState.RESOLVED)
    with transaction.atomic():
        if latest["severity"] == Severity.ERROR:
            for warning in unresolved.filter(severity=Severity.WARNING):
                warning.severity = Severity.ERROR
                events.opened(warning)
        return bool(unresolved.update(count=F("count") + 1, **latest))


def resolve_by(
    event: Event,
    *,
    workspace_id: UUID | None = None,
    pipeline_id: UUID | None = None,
    by: RunLike | None = None,
    node: str | None = None,
) -> int:
    """Resolve the alerts that this event ends, limited to the given pipeline and node; return their number.

    `workspace_id` limits events without a pipeline. `by` is the run of the event; alerts that this run raised stay
    open.
    """
    ended = Alert.objects.filter(kind__in=kinds_ended_by(event), pipeline=pipeline_id)
    ended = ended.exclude(state=AlertState.RESOLVED)
    if workspace_id is not None:
        ended = ended.filter(workspace_id=workspace_id)
    if node is not None:
        ended = ended.filter(node=node)
    if by is not None:
        ended = ended.exclude(run_id=by.pk, kind__in=RAISED_BY_GOOD_RUNS)
    return _resolve(ended, event)


def _resolve(alerts: QuerySet[Alert], how: Event, by: User | None = None) -> int:
    with transaction.atomic():
        keys = list(alerts.values_list("pk", flat=True))
        if not keys:
            return 0
        unresolved = Alert.objects.filter(pk__in=keys).exclude(state=AlertState.RESOLVED)
        count = unresolved.update(state=AlertState.RESOLVED, resolved_at=Now(), resolved_how=how, resolved_by=by)
        events.resolved(keys)
    return count


def acknowledge(alert: Alert, user: User | None = None) -> None:
    """Mark an alert as acknowledged. Raises FlowError if it is no longer open."""
    changed = Alert.objects.filter(pk=alert.pk, state=AlertState.OPEN).update(
        state=AlertState.ACKNOWLEDGED, acknowledged_by=user, acknowledged_at=Now()
    )
    _refuse_unless(changed, alert, "acknowledge")


def resolve(alert: Alert, user: User | None = None) -> None:
    """Resolve an alert manually. Raises FlowError if it is already resolved."""
    unresolved = Alert.objects.filter(pk=alert.pk).exclude(state=AlertState.RESOLVED)
    _refuse_unless(_resolve(unresolved, "person", user), alert, "resolve")


def _refuse_unless(changed: int, alert: Alert, action: str) -> None:
    if not changed:
        alert.refresh_from_db()
        raise FlowError(
            "alert.state",
            f"Cannot {action} alert {alert.pk}: it is {alert.state}.",
            hint="An alert is open, then acknowledged, then resolved. The same problem later opens a new alert.",
        )


def forget_run(run_id: UUID) -> None:
    """Clear references to a deleted run."""
    Alert.objects.filter(run_id=run_id).update(run_id=None, run_number=None)
