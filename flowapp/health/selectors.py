"""Reading alerts and the state of the installation's parts. What cannot be told is said to be so, never green."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal
from uuid import UUID

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import Q, QuerySet

from flowapp.accounts.models import Workspace
from flowapp.clock import from_now
from flowapp.health.models import Alert, AlertState, Heartbeat
from ir.errors import FlowError

Status = Literal["ok", "down", "cannot tell"]
Part = dict[str, str | int]


def list_alerts(workspace: Workspace, *, with_resolved: bool = False) -> QuerySet[Alert]:
    """The workspace's alerts and those of the whole installation, newest first."""
    alerts = Alert.objects.filter(Q(workspace=workspace) | Q(workspace=None)).select_related("pipeline")
    if not with_resolved:
        alerts = alerts.exclude(state=AlertState.RESOLVED)
    return alerts.order_by("-last_seen_at", "id")


def get_alert(workspace: Workspace, alert_id: UUID | str) -> Alert:
    """An alert that `list_alerts` may show; raises FlowError."""
    try:
        return list_alerts(workspace, with_resolved=True).get(pk=UUID(str(alert_id)))
    except (Alert.DoesNotExist, ValueError):
        raise FlowError(
            "alert.unknown",
            f"There is no alert {str(alert_id)!r} here.",
            hint="`flow alerts list` shows the open ones.",
        ) from None


def alert_document(alert: Alert) -> dict[str, Any]:
    return {
        "id": str(alert.pk),
        "kind": alert.kind,
        "severity": alert.severity,
        "state": alert.state,
        "pipeline": alert.pipeline.ident if alert.pipeline else None,
        "run": str(alert.run_id) if alert.run_id else None,
        "node": alert.node or None,
        "message": alert.message,
        "nextStep": alert.next_step,
        "count": alert.count,
        "firstSeenAt": alert.first_seen_at.isoformat(),
        "lastSeenAt": alert.last_seen_at.isoformat(),
    }


def count_alive(role: str) -> int:
    """How many processes of that role were heard of lately."""
    return Heartbeat.objects.filter(role=role, seen_at__gt=from_now(-settings.HEARTBEAT_SECONDS)).count()


def part(status: Status, detail: str, **more: int) -> Part:
    return {"status": status, "detail": detail, **more}


def database_health() -> Part:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return part("down", "The control database does not answer.")
    return part("ok", "The control database answers.")


def broker_health() -> Part:
    if not settings.REDIS_URL:
        return part("cannot tell", "No broker is configured (FLOW_REDIS_URL).")
    try:
        with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2, socket_connect_timeout=2) as client:
            client.ping()
    except redis.RedisError:
        return part("down", "The broker does not answer.")
    return part("ok", "The broker answers.")


def process_health(role: str) -> Part:
    try:
        alive = count_alive(role)
    except DatabaseError:
        return part("cannot tell", "The control database does not answer.")
    seconds = f"{settings.HEARTBEAT_SECONDS:g}"
    if not alive:
        return part("down", f"No {role} was heard of within {seconds} s.", alive=0)
    return part("ok", f"{alive} heard of within {seconds} s.", alive=alive)


PARTS: dict[str, Callable[[], Part]] = {
    "database": database_health,
    "broker": broker_health,
    "workers": lambda: process_health("worker"),
    "scheduler": lambda: process_health("scheduler"),
}


def health_document() -> dict[str, Part]:
    """The state of every part, each with a word for people."""
    return {name: look() for name, look in PARTS.items()}
