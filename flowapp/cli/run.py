"""`flow run`: one run to its end in this process, or queued for a worker."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flowapp.cli.documents import is_file
from flowapp.cli.exits import UsageError
from flowapp.cli.outcome import Outcome, said
from flowapp.cli.parser import add_command
from flowapp.cli.pipeline import save_file
from flowapp.cli.preview_report import show_preview
from flowapp.cli.progress import shown_engine
from flowapp.cli.run_report import STATUS_BY_STATE, show_run
from flowapp.cli.workspace import current_workspace

if TYPE_CHECKING:
    from flowapp.pipelines.models import Pipeline
    from flowapp.runs.models import Run


def add_parser(commands: Any) -> None:
    run = add_command(commands, "run", run_pipeline, "run a pipeline to its end, no worker needed")
    run.add_argument("pipeline", metavar="FILE_OR_ID", help="a document, saved as the newest version first, or an id")
    run.add_argument("--detach", action="store_true", help="queue the run for a worker and return")
    run.add_argument("--load-again", action="store_true", help="load what was loaded before once more; needs --reason")
    run.add_argument("--reason", metavar="TEXT", help="why it is loaded again")
    run.add_argument("--preview", action="store_true", help="load nothing; tell what a run would change")


def run_pipeline(args: Namespace) -> Outcome:
    reason = _reason(args)
    if args.preview and (args.detach or reason):
        raise UsageError("--preview goes with neither --detach nor --load-again", command="flow run")
    pipeline = _pipeline(args.pipeline)
    if args.preview:
        return _preview_here(pipeline)
    return _queued(pipeline, reason) if args.detach else _run_here(pipeline, reason)


def _reason(args: Namespace) -> str | None:
    if args.load_again != bool(args.reason):
        raise UsageError("--load-again and --reason TEXT go together", command="flow run")
    return args.reason or None


def _pipeline(named: str) -> Pipeline:
    from flowapp.pipelines.selectors import get_pipeline

    if not is_file(named):
        return get_pipeline(current_workspace(), named)
    return save_file(named).pipeline


def _run_here(pipeline: Pipeline, reason: str | None) -> Outcome:
    from flowapp.runs.dispatch import run_inline
    from flowapp.runs.models import Purpose

    with shown_engine(pipeline.ident, Purpose.LOAD) as engine:
        run = run_inline(pipeline, load_again=reason, engine=engine)
    return ended(run)


def _preview_here(pipeline: Pipeline) -> Outcome:
    from flowapp.runs.dispatch import preview_inline
    from flowapp.runs.models import Purpose

    with shown_engine(pipeline.ident, Purpose.PREVIEW) as engine:
        run = preview_inline(pipeline, engine=engine)
    return ended(run)


def ended(run: Run) -> Outcome:
    """A run with its numbers; the exit status says how it ended."""
    shown = told(run)
    return replace(shown, status=STATUS_BY_STATE[shown.document["state"]])


def told(run: Run) -> Outcome:
    """A run with its numbers, or a preview with its own."""
    from flowapp.runs.selectors import run_document

    document = run_document(run, sees_values=True)
    nothing_new = run.report.get("nothingNewReason", "") if run.report.get("nothingNew") else None
    show = show_preview if "effects" in document else show_run
    return Outcome(document, lambda console: show(console, document, run.name, nothing_new=nothing_new))


def _queued(pipeline: Pipeline, reason: str | None) -> Outcome:
    from flowapp.runs.models import Trigger
    from flowapp.runs.selectors import run_document
    from flowapp.runs.services import queue_run

    run = queue_run(pipeline, Trigger.CLI, load_again=reason)
    return said(
        run_document(run, sees_values=True),
        f"Run {run.name} is queued for a worker.",
        f"Follow it with: flow runs show {run.name}",
    )
