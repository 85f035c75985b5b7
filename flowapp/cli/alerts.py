"""`flow alerts`: what System Health has to say."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from rich.console import Console

from flowapp.cli.outcome import Outcome, minute, said, show_lines, show_table
from flowapp.cli.parser import add_command, add_group
from flowapp.cli.workspace import current_workspace

COLUMNS = {"id": "ID", "severity": "SEVERITY", "kind": "KIND", "pipeline": "PIPELINE", "count": "TIMES",
           "lastSeenAt": "LAST SEEN", "state": "STATE"}  # fmt: skip


def add_parser(commands: Any) -> None:
    group = add_group(commands, "alerts", "what System Health has to say")
    listing = add_command(group, "list", list_alerts, "list the alerts that are not resolved, newest first")
    listing.add_argument("--all", action="store_true", help="the resolved ones too")
    for name, handler, summary in (
        ("ack", acknowledge_alert, "say that somebody looks after an alert"),
        ("resolve", resolve_alert, "close an alert"),
    ):
        add_command(group, name, handler, summary).add_argument("id", metavar="ID")


def list_alerts(args: Namespace) -> Outcome:
    from flowapp.health import selectors

    alerts = selectors.list_alerts(current_workspace(), with_resolved=args.all)
    found = [selectors.alert_document(alert) for alert in alerts]
    return Outcome({"alerts": found}, lambda console: _show_alerts(console, found))


def _show_alerts(console: Console, alerts: list[dict[str, Any]]) -> None:
    if not alerts:
        show_lines(console, ["No alerts."])
        return
    show_table(console, COLUMNS, [{**alert, "lastSeenAt": minute(alert["lastSeenAt"])} for alert in alerts])
    for alert in alerts:
        show_lines(console, ["", f"{alert['id']}: {alert['message']}", f"  {alert['nextStep']}"])


def acknowledge_alert(args: Namespace) -> Outcome:
    from flowapp.health import alerts, selectors

    alert = selectors.get_alert(current_workspace(), args.id)
    alerts.acknowledge(alert)
    return _now(alert, "acknowledged")


def resolve_alert(args: Namespace) -> Outcome:
    from flowapp.health import alerts, selectors

    alert = selectors.get_alert(current_workspace(), args.id)
    alerts.resolve(alert)
    return _now(alert, "resolved")


def _now(alert: Any, state: str) -> Outcome:
    from flowapp.health.selectors import alert_document

    alert.refresh_from_db()
    return said(alert_document(alert), f"Alert {alert.pk} is {state}.")
