"""`flow run`: execute one run to its end, by a live worker or in this process, or queue it for a worker."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flowapp.accounts.cli.workspace import current_workspace
from flowapp.cli.exits import UsageError
from flowapp.cli.outcome import Outcome, text_outcome
from flowapp.cli.parser import add_command
from flowapp.pipelines.cli.documents import is_file
from flowapp.runs.cli.pipeline import save_file
from flowapp.runs.cli.preview_report import show_preview
from flowapp.runs.cli.progress import shown_run
from flowapp.runs.cli.run_report import STATUS_BY_STATE, show_run

if TYPE_CHECKING:
    from flowapp.pipelines.models import Pipeline
    from flowapp.runs.models import Run


EPILOG = (
    "A live worker runs it, because its Spark has started already: one that wrote a heartbeat within the last "
    "30 seconds. Without one this process starts Spark and runs it; so it does when no worker takes the run "
    "within 30 seconds. Ctrl-C cancels the run."
)


def add_parser(commands: Any) -> None:
    run = add_command(commands, "run", run_pipeline, "run a pipeline to its end")
    run.set_defaults(joins_broker=True)
    run.epilog = EPILOG
    run.add_argument(
        "pipeline", metavar="FILE_OR_ID", help="a document, which is saved as the newest version first, or an id"
    )
    run.add_argument("--detach", action="store_true", help="queue the run for a worker and return")
    run.add_argument(
        "--load-again", action="store_true", help="load files again that were loaded before; needs --reason"
    )
    run.add_argument("--reason", metavar="TEXT", help="the reason for loading again")
    run.add_argument("--preview", action="store_true", help="only show what a run would change")


def run_pipeline(args: Namespace) -> Outcome:
    reason = _reason(args)
    if args.preview and (args.detach or reason):
        raise UsageError("--preview cannot be combined with --detach or --load-again", command="flow run")
    pipeline = _pipeline(args.pipeline)
    return _queued(pipeline, reason) if args.detach else _attended(pipeline, reason, is_preview=args.preview)


def _reason(args: Namespace) -> str | None:
    if args.load_again != bool(args.reason):
        raise UsageError("--load-again needs --reason TEXT, and --reason needs --load-again", command="flow run")
    return args.reason or None


def _pipeline(named: str) -> Pipeline:
    from flowapp.pipelines.selectors import get_pipeline

    if not is_file(named):
        return get_pipeline(current_workspace(), named)
    return save_file(named).pipeline


def _attended(pipeline: Pipeline, reason: str | None, *, is_preview: bool) -> Outcome:
    from flowapp.runs.attended import preview_attended, run_attended

    with shown_run(pipeline.slug) as shown:
        if is_preview:
            return ended(preview_attended(pipeline, shown.engine, shown.show_state))
        return ended(run_attended(pipeline, shown.engine, shown.show_state, load_again=reason))


def ended(run: Run) -> Outcome:
    """Return a finished run with its counts. The exit status depends on its state."""
    shown = outcome_of(run)
    return replace(shown, status=STATUS_BY_STATE[shown.document["state"]])


def outcome_of(run: Run) -> Outcome:
    """Return a run or a preview with its counts."""
    from flowapp.runs.serializers import run_json

    document = run_json(run, sees_values=True)
    nothing_new = run.stored_report.nothing_new_reason if run.nothing_new else None
    show = show_preview if "effects" in document else show_run
    return Outcome(document, lambda console: show(console, document, run.name, nothing_new=nothing_new))


def _queued(pipeline: Pipeline, reason: str | None) -> Outcome:
    from flowapp.runs.models import Trigger
    from flowapp.runs.serializers import run_json
    from flowapp.runs.services import queue_run

    run = queue_run(pipeline, Trigger.CLI, load_again=reason)
    return text_outcome(
        run_json(run, sees_values=True),
        f"Run {run.name} is queued for a worker.",
        f"To follow it: flow runs show {run.name}",
    )
