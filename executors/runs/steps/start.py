"""The first step: opens the targets, and refuses those that cannot be loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from executors.change_log.keys import with_source_key
from executors.destinations import load_destination
from executors.destinations.base import Access
from executors.model import RunJob
from executors.runs.state import Run
from executors.runs.step import Action
from executors.runs.steps.capabilities import refuse_unsupported
from ir.pipeline import Path


def watch_cancellation(run: Run) -> Run:
    """Let a cancellation interrupt all open resources."""
    run.context.ports.cancellation.on_cancel(run.context.interrupts.interrupt)
    return run


def every_path(job: RunJob) -> Iterable[tuple[Path, ...]]:
    """Return the paths to every target that the run is for."""
    targets = (target for target in job.pipeline.targets() if target.id in (job.only_targets or {target.id}))
    return (job.pipeline.paths_to(target) for target in targets)


def open_targets(paths: Callable[[RunJob], Iterable[tuple[Path, ...]]], access: Access, *needs: str) -> Action[Run]:
    """Return an action that opens one target after the other. `needs` are the capabilities that the kind of run
    needs."""

    def open_each(run: Run) -> Run:
        for to_one in (with_source_key(run.context.job, to_one) for to_one in paths(run.context.job)):
            handler = load_destination(to_one[0].target)
            refuse_unsupported(handler.capabilities, to_one, needs)
            run = replace(run, targets=(*run.targets, handler.open(run.context, to_one, access)))
        return run

    return open_each
