"""Before anything is read: open the targets, raise their fences, and refuse what cannot be loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from executors.destination import refuse_unloadable
from executors.errors import Terminal
from executors.model import RunJob
from executors.postgres import meta
from executors.postgres.client import connect, interrupt
from executors.postgres.fences import raise_fence
from executors.postgres.names import TableName
from executors.postgres.table_lock import refuse_busy
from executors.runs.state import Run, RunContext
from executors.runs.step import Action
from executors.runs.target_run import TargetRun
from executors.target_hooks import TargetHooks
from ir.pipeline import Path

Preparation = Callable[[RunContext, TargetRun], TargetRun]


def watch_cancellation(run: Run) -> Run:
    """Let a cancellation interrupt whatever is open."""
    run.context.ports.cancellation.on_cancel(run.context.interrupts.interrupt)
    return run


def every_path(job: RunJob) -> Iterable[Path]:
    """The path to every target of the pipeline."""
    return (job.pipeline.path_to(target) for target in job.pipeline.targets())


def open_targets(paths: Callable[[RunJob], Iterable[Path]], *preparations: Preparation) -> Action[Run]:
    """Connect to one target after the other and prepare it."""

    def open_each(run: Run) -> Run:
        for path in paths(run.context.job):
            target = _connect(run.context, path)
            for prepare in preparations:
                target = prepare(run.context, target)
            run = replace(run, targets=(*run.targets, target))
        return run

    return open_each


def _connect(context: RunContext, path: Path) -> TargetRun:
    job, target = context.job, path.target
    name = f"flow run {job.run_id}"
    connection = connect(job.connections[target.connection], autocommit=True, application_name=name)
    context.stack.enter_context(connection)
    hooks = TargetHooks(job, context.ports, context.report, target)
    context.interrupts.add(hooks.interrupt)
    context.interrupts.add(lambda: interrupt(connection))
    return TargetRun(path, connection, hooks)


def ready_meta(context: RunContext, target: TargetRun) -> TargetRun:
    """Make Flow's own tables in the target's database, if they are missing."""
    meta.ensure_meta(target.connection)
    return target


def raise_target_fence(context: RunContext, target: TargetRun) -> TargetRun:
    """Keep older attempts from loading. Raises LeaseLost behind a newer one."""
    raise_fence(target.connection, *_key(context, target), context.job.token)
    return target


def find_earlier_commit(context: RunContext, target: TargetRun) -> TargetRun:
    """What an earlier attempt of this run has committed."""
    commits = meta.find_commits(target.connection, context.job.run_id)
    return replace(target, commit=next((c for c in commits if c.node == target.path.target.id), None))


def refuse_busy_table(context: RunContext, target: TargetRun) -> TargetRun:
    """Raises TargetBusy while another load holds the table that is still to be loaded."""
    node = target.path.target
    if target.commit is None:
        refuse_busy(target.connection, TableName(node.schema_, node.table), node.id)
    return target


def refuse_older_state(context: RunContext, target: TargetRun) -> TargetRun:
    """Raises Terminal `target.went_back` for a database that no longer holds the last load that is known."""
    node = target.path.target
    known = context.ports.last_commit(node.id)
    if known and not meta.last_commit_exists(target.connection, *_key(context, target), known):
        raise Terminal(
            "target.went_back",
            f"{node.schema_}.{node.table} no longer holds the load of run {known}: the database was restored "
            "or failed over to an older state.",
            node=node.id,
            hint="Compare the table with its source, then load what is missing again, with a reason.",
        )
    return target


def look_at_table(context: RunContext, target: TargetRun) -> TargetRun:
    """Refuse what cannot be loaded, and log in which way the rows of a table will be replaced."""
    node = target.path.target
    dest = refuse_unloadable(target.connection, node)
    if dest and dest.replacing:
        context.log(dest.replacing.sentence(f"{dest.schema}.{dest.table}"), node)
    return replace(target, table_exists=dest is not None)


def _key(context: RunContext, target: TargetRun) -> tuple[str, str, str]:
    return context.job.tenant, context.job.pipeline.id, target.path.target.id
