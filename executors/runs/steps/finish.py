"""The end of a run: archives or requeues the files that it claimed."""

from __future__ import annotations

from executors.errors import Failure, InvalidContent, LeaseLost
from executors.holding import Held
from executors.runs.state import Run
from executors.runs.target_run import TargetRun
from ir.nodes import Source


def archive_loaded(run: Run) -> Run:
    """Archive the files of sources that every target has loaded."""
    for source in run.sources:
        targets = run.targets_of(source)
        if all(target.is_done for target in targets):
            run.context.source_reader.archive_loaded(source, targets)
    return run


def give_up(run: Run, cause: Failure) -> None:
    """Archive files that were loaded, and files that would fail again. Requeue all others, so that the next attempt or
    run claims them. Files of a held load stay claimed, and so do files that some of their targets have loaded. A worker
    that lost its lease changes nothing, because another worker owns the run."""
    if isinstance(cause, LeaseLost):
        return
    try:
        archive_loaded(run)
        failed = next((target for target in run.targets if not target.is_done), None)
        if failed and isinstance(cause, InvalidContent):
            for source in _guilty(failed, cause.node):
                run.context.source_reader.archive_failed(source, cause.message)
        if not isinstance(cause, Held):
            _requeue(run)
    except LeaseLost:
        raise
    except Failure as trouble:
        run.context.ports.events.log("warning", f"Files were not archived: {trouble.message}")


def _guilty(target: TargetRun, node: str | None) -> list[Source]:
    """Return the sources whose data makes the load fail: that of the path with the node, or all if several have it."""
    if any(node in path.reference_nodes for path in target.paths):
        return []
    own = [path.source for path in target.paths if node in path.own_nodes]
    return own or list(target.sources)


def _requeue(run: Run) -> None:
    for source in run.sources:
        if not any(target.is_done for target in run.targets_of(source)):
            run.context.source_reader.requeue(source)
