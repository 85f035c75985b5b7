"""`flow runs`: list, show and cancel runs."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from flowapp.accounts.cli.workspace import current_workspace
from flowapp.cli.exits import UsageError
from flowapp.cli.outcome import Outcome, listed, minute, text_outcome
from flowapp.cli.parser import add_command, add_group, add_run, positive
from flowapp.runs.cli.run import ended, outcome_of

COLUMNS = {
    "name": "RUN",
    "version": "VERSION",
    "kind": "KIND",
    "state": "STATE",
    "trigger": "TRIGGER",
    "queuedAt": "QUEUED",
    "endedAt": "ENDED",
    "problem": "PROBLEM",
    "run": "ID",
}


def add_parser(commands: Any) -> None:
    group = add_group(commands, "runs", "runs")
    listing = add_command(group, "list", list_runs, "list runs, newest first")
    listing.add_argument("--pipeline", metavar="ID")
    listing.add_argument("--state", metavar="STATE", help="queued, running, failed …")
    listing.add_argument("--limit", type=positive, default=20, metavar="N", help="how many (default: 20)")
    add_run(add_command(group, "show", show_one, "show a run's numbers"))
    add_run(add_command(group, "cancel", cancel_run, "cancel a run"))
    retry = add_command(group, "retry", retry_run, "load the missing targets of a partially loaded run")
    add_run(retry)
    retry.add_argument("--detach", action="store_true", help="queue the run for a worker and return")
    approve = add_command(group, "approve", approve_run, "approve a held run")
    add_run(approve)
    approve.add_argument("--reason", metavar="TEXT", default="", help="the reason; it is stored")
    approve.add_argument("--detach", action="store_true", help="queue the load for a worker and return")
    discard = add_command(group, "discard", discard_run, "discard the load of a held run")
    add_run(discard)
    discard.add_argument("--reason", metavar="TEXT", required=True, help="the reason; it is stored")


def list_runs(args: Namespace) -> Outcome:
    from flowapp.pipelines.selectors import get_pipeline
    from flowapp.runs import selectors
    from flowapp.runs.serializers import RunSummarySerializer

    _require_state(args.state)
    workspace = current_workspace()
    pipeline = get_pipeline(workspace, args.pipeline) if args.pipeline else None
    runs = selectors.list_runs(workspace, pipeline=pipeline, state=args.state)[: args.limit]
    found = [RunSummarySerializer(run).data for run in runs]
    rows = [
        {
            **run,
            "queuedAt": minute(run["queuedAt"]),
            "endedAt": minute(run["endedAt"]),
            "problem": _problem(run),
        }
        for run in found
    ]
    empty = "No such runs." if args.pipeline or args.state else "No runs yet. Start one: flow run FILE_OR_ID"
    return Outcome({"runs": found}, listed("runs", rows, COLUMNS, empty).show)


def _problem(run: dict[str, Any]) -> str | None:
    if run["error"]:
        return str(run["error"]["code"])
    return f"hook failed: {', '.join(run['failedHooks'])}" if run["failedHooks"] else None


def _require_state(state: str | None) -> None:
    from flowapp.runs.models import State

    if state is not None and state not in State.values:
        raise UsageError(f"there is no state {state!r}; states: {', '.join(State.values)}", command="flow runs list")


def show_one(args: Namespace) -> Outcome:
    from flowapp.runs import selectors

    return outcome_of(selectors.find_run(current_workspace(), args.run))


def cancel_run(args: Namespace) -> Outcome:
    from flowapp.runs import selectors, services
    from flowapp.runs.serializers import run_json

    run = services.cancel_run(selectors.find_run(current_workspace(), args.run))
    words = "is cancelled" if run.ended_at else "ends within seconds"
    return text_outcome(run_json(run, sees_values=True), f"Run {run.name} {words}.")


def retry_run(args: Namespace) -> Outcome:
    from flowapp.runs import selectors, services
    from flowapp.runs.dispatch import run_to_end
    from flowapp.runs.models import Trigger
    from flowapp.runs.serializers import run_json

    partial = selectors.find_run(current_workspace(), args.run)
    run = services.retry_missing(partial, Trigger.CLI, send=args.detach)
    if args.detach:
        return text_outcome(run_json(run, sees_values=True), f"Run {run.name} is queued for a worker.")
    return ended(run_to_end(run))


def approve_run(args: Namespace) -> Outcome:
    from flowapp.runs import holds, selectors
    from flowapp.runs.dispatch import run_to_end
    from flowapp.runs.serializers import run_json

    held = selectors.find_run(current_workspace(), args.run)
    run = holds.approve_run(held, holds.Decider("the command line"), args.reason, send=args.detach)
    if args.detach:
        document = run_json(run, sees_values=True)
        return text_outcome(document, f"Run {run.name} is approved. A worker loads the staged rows.")
    return ended(run_to_end(run))


def discard_run(args: Namespace) -> Outcome:
    from flowapp.runs import holds, selectors
    from flowapp.runs.serializers import run_json

    held = selectors.find_run(current_workspace(), args.run)
    run = holds.discard_run(held, holds.Decider("the command line"), args.reason)
    return text_outcome(run_json(run, sees_values=True), f"Run {run.name} is discarded. {run.error_hint}")
