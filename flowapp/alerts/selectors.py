"""Queries for alerts."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count, QuerySet

from flowapp.accounts.models import Workspace
from flowapp.alerts.models import Alert, AlertState, Severity
from flowapp.pipelines.models import Pipeline
from flowapp.processes.parts import Part, health_document
from ir.errors import FlowError

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
    """Return the workspace's alerts, newest first, filtered by the given arguments.

    Without a state: the alerts that are not resolved, or all alerts if `with_resolved`.
    """
    alerts = Alert.objects.filter(workspace=workspace).select_related("pipeline", "acknowledged_by", "resolved_by")
    filters = {"state": state, "kind": kind, "severity": severity, "pipeline": pipeline}
    alerts = alerts.filter(**{name: value for name, value in filters.items() if value})
    if not state and not with_resolved:
        alerts = alerts.exclude(state=AlertState.RESOLVED)
    return alerts.order_by(*NEWEST_FIRST)


WIDGET_ALERTS = 5


@dataclass(frozen=True, slots=True)
class Light:
    """The health light. `state` is ok, warning, error or unknown; it is never ok if a part did not answer. `parts`
    lists those that are not ok."""

    state: str
    count: int
    alerts: list[Alert]
    parts: dict[str, Part]


def get_light(workspace: Workspace) -> Light:
    """Return the workspace's health light. Acknowledged alerts do not affect it."""
    alerts = list_alerts(workspace).filter(state=AlertState.OPEN)
    by_severity = dict(alerts.order_by().values_list("severity").annotate(Count("pk")))
    ill = {name: part for name, part in health_document().items() if part["status"] != "ok"}
    newest = list(alerts[:WIDGET_ALERTS]) if by_severity else []
    return Light(_state_of(by_severity, ill), sum(by_severity.values()), newest, ill)


def _state_of(by_severity: dict[str, int], ill: dict[str, Part]) -> str:
    if by_severity.get(Severity.ERROR):
        return "error"
    if ill:
        return "unknown"
    return "warning" if by_severity else "ok"


def get_alert(workspace: Workspace, alert_id: UUID | str) -> Alert:
    """Return an alert that `list_alerts` may show. Raises FlowError."""
    try:
        return list_alerts(workspace, with_resolved=True).get(pk=UUID(str(alert_id)))
    except (Alert.DoesNotExist, ValueError):
        raise FlowError(
            "alert.unknown",
            f"Unknown alert {str(alert_id)!r} here.",
            hint="`flow alerts list` shows open alerts.",
        ) from None
