"""Reading alerts and the state of the installation's parts. What cannot be told is said to be so, never green."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import BooleanField, Count, ExpressionWrapper, Q, QuerySet

from executors.api import server_name
from flowapp.accounts.models import User, Workspace
from flowapp.clock import from_now
from flowapp.health.heartbeats import spark_name
from flowapp.health.kinds import ended_by, title_of
from flowapp.health.models import Alert, AlertState, Heartbeat, Severity
from flowapp.pipelines.models import Pipeline
from ir.errors import FlowError
from ir.words import counted

Status = Literal["ok", "down", "cannot tell"]
Part = dict[str, str | int]
NEWEST_FIRST = ("-last_seen_at", "id")


def list_alerts(
    workspace: Workspace,
    *,
    with_resolved: bool = False,
    state: str = "",
    kind: str = "",
    severity: str = "",
    pipeline: Pipeline | None = None,
) -> QuerySet[Alert]:
    """The workspace's alerts, newest first; narrowed down by what is given.

    Without a state those that are not resolved, or all of them `with_resolved`.
    """
    alerts = Alert.objects.filter(workspace=workspace).select_related(
        "pipeline", "run", "acknowledged_by", "resolved_by"
    )
    wanted = {"state": state, "kind": kind, "severity": severity, "pipeline": pipeline}
    alerts = alerts.filter(**{name: value for name, value in wanted.items() if value})
    if not state and not with_resolved:
        alerts = alerts.exclude(state=AlertState.RESOLVED)
    return alerts.order_by(*NEWEST_FIRST)


WIDGET_ALERTS = 5


@dataclass(frozen=True, slots=True)
class Light:
    """`state` is ok, warning, error or cannot tell, never green by silence; `parts` are those that are not well."""

    state: str
    count: int
    alerts: list[Alert]
    parts: dict[str, Part]


def get_light(workspace: Workspace) -> Light:
    """What the widget says of a workspace. Acknowledged alerts are looked after and turn no light on."""
    alerts = list_alerts(workspace).filter(state=AlertState.OPEN)
    by_severity = dict(alerts.order_by().values_list("severity").annotate(Count("pk")))
    ill = {name: part for name, part in health_document().items() if part["status"] != "ok"}
    newest = list(alerts[:WIDGET_ALERTS]) if by_severity else []
    return Light(_state_of(by_severity, ill), sum(by_severity.values()), newest, ill)


def _state_of(by_severity: dict[str, int], ill: dict[str, Part]) -> str:
    if by_severity.get(Severity.ERROR):
        return "error"
    if ill:
        return "cannot tell"
    return "warning" if by_severity else "ok"


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
        "title": title_of(alert.kind),
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
        "resolvedBy": ended_by(alert.kind),
        "acknowledged": _act(alert.acknowledged_at, alert.acknowledged_by),
        "resolved": _act(alert.resolved_at, alert.resolved_by, how=alert.resolved_how),
    }


def _act(at: datetime | None, by: User | None, **more: str) -> dict[str, Any] | None:
    return {"at": at.isoformat(), "by": by.email if by else None, **more} if at else None


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
    return part("ok", f"{alive} heard of within {seconds}\u00a0s.", alive=alive)


def spark_health() -> Part:
    """Only workers hold Spark: without one nobody can tell."""
    try:
        is_fresh = ExpressionWrapper(Q(seen_at__gt=from_now(-settings.HEARTBEAT_SECONDS)), BooleanField())
        found = Heartbeat.objects.filter(role__in=("worker", "spark")).annotate(is_fresh=is_fresh)
        beats = list(found.values_list("role", "name", "is_fresh"))
    except DatabaseError:
        return part("cannot tell", "The control database does not answer.")
    sparks = {name: fresh for role, name, fresh in beats if role == "spark"}
    states = [sparks.get(spark_name(name)) for role, name, fresh in beats if role == "worker" and fresh]
    return _spark_part(states)


def _spark_part(states: Sequence[bool | None]) -> Part:
    """`states` are those of the living workers' Sparks: None was never heard of."""
    answering = states.count(True)
    if not states:
        return part("cannot tell", "No worker answers, and only workers hold Spark.", alive=0)
    if answering:
        return part("ok", f"Answers in {counted(answering, 'worker')}.", alive=answering)
    if server := server_name():
        text = f"The Spark Connect server {server} answers no worker. See that it runs and that workers reach it."
        return part("down", text, alive=0)
    if False in states:
        return part("down", "Spark has answered before and is silent now. Start the worker again.", alive=0)
    return part("cannot tell", "No worker has started Spark yet; it does within a minute.", alive=0)


PARTS: dict[str, Callable[[], Part]] = {
    "database": database_health,
    "broker": broker_health,
    "workers": lambda: process_health("worker"),
    "scheduler": lambda: process_health("scheduler"),
    "spark": spark_health,
}


def health_document() -> dict[str, Part]:
    """The state of every part, each with a word for people."""
    return {name: look() for name, look in PARTS.items()}
