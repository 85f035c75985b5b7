"""`flow alerts`: alerts of System Health."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from rich.console import Console

from flowapp.accounts.cli.workspace import current_workspace
from flowapp.cli.exits import UsageError
from flowapp.cli.outcome import Outcome, listed, minute, show_lines, show_table, text_outcome
from flowapp.cli.parser import add_command, add_group

COLUMNS = {
    "id": "ID",
    "severity": "SEVERITY",
    "kind": "KIND",
    "pipeline": "PIPELINE",
    "count": "TIMES",
    "lastSeenAt": "LAST SEEN",
    "state": "STATE",
}


def add_parser(commands: Any) -> None:
    group = add_group(commands, "alerts", "alerts of System Health")
    listing = add_command(group, "list", list_alerts, "list unresolved alerts, newest first")
    listing.add_argument("--all", action="store_true", help="also resolved alerts")
    listing.add_argument("--state", choices=("open", "acknowledged", "resolved"))
    listing.add_argument("--kind", metavar="KIND", help="such as run.failed; `flow alerts kinds` lists all")
    listing.add_argument("--severity", choices=("warning", "error"))
    listing.add_argument("--pipeline", metavar="ID")
    add_command(group, "kinds", list_kinds, "list the kinds of alert and what resolves each")
    for name, handler, summary in (
        ("ack", acknowledge_alert, "acknowledge an alert"),
        ("resolve", resolve_alert, "resolve an alert"),
    ):
        add_command(group, name, handler, summary).add_argument("id", metavar="ID")


def list_alerts(args: Namespace) -> Outcome:
    from flowapp.alerts import selectors
    from flowapp.alerts.serializers import AlertSerializer
    from flowapp.api.serializers import represent_all
    from flowapp.pipelines.selectors import get_pipeline

    workspace = current_workspace()
    alerts = selectors.list_alerts(
        workspace,
        with_resolved=args.all,
        state=args.state or "",
        kind=_known_kind(args.kind),
        severity=args.severity or "",
        pipeline=get_pipeline(workspace, args.pipeline) if args.pipeline else None,
    )
    found = represent_all(AlertSerializer, alerts)
    return Outcome({"alerts": found}, lambda console: _show_alerts(console, found))


def _show_alerts(console: Console, alerts: list[dict[str, Any]]) -> None:
    if not alerts:
        show_lines(console, ["No alerts."])
        return
    show_table(console, COLUMNS, [{**alert, "lastSeenAt": minute(alert["lastSeenAt"])} for alert in alerts])
    for alert in alerts:
        show_lines(console, ["", f"{alert['id']}: {alert['message']}", f"  {alert['nextStep']}"])


def _known_kind(kind: str | None) -> str:
    from flowapp.alerts.kinds import ALERT_KINDS

    if kind and kind not in ALERT_KINDS:
        raise UsageError(f"there is no kind {kind!r}; known: {', '.join(ALERT_KINDS)}", command="flow alerts list")
    return kind or ""


def list_kinds(args: Namespace) -> Outcome:
    from flowapp.alerts.kinds import KINDS
    from flowapp.alerts.serializers import AlertKindSerializer
    from flowapp.api.serializers import represent_all

    columns = {"kind": "KIND", "title": "WHAT", "resolvedBy": "RESOLVED BY", "sentByChannels": "SENT BY CHANNELS"}
    return listed("kinds", represent_all(AlertKindSerializer, KINDS), columns, "")


def acknowledge_alert(args: Namespace) -> Outcome:
    from flowapp.alerts import selectors, services

    alert = selectors.get_alert(current_workspace(), args.id)
    services.acknowledge(alert)
    return _now(alert, "acknowledged")


def resolve_alert(args: Namespace) -> Outcome:
    from flowapp.alerts import selectors, services

    alert = selectors.get_alert(current_workspace(), args.id)
    services.resolve(alert)
    return _now(alert, "resolved")


def _now(alert: Any, state: str) -> Outcome:
    from flowapp.alerts.serializers import AlertSerializer

    alert.refresh_from_db()
    return text_outcome(AlertSerializer(alert).data, f"Alert {alert.pk} is {state}.")
