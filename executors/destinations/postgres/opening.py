"""Opens a target in PostgreSQL: connect, raise the fence, and refuse targets that cannot be loaded."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from executors.destinations.base import Access, DestinationHandler
from executors.destinations.postgres.chunks import refuse_loaded
from executors.destinations.postgres.tables import refuse_unloadable
from executors.errors import Terminal
from executors.model import RunJob
from executors.postgres import meta
from executors.postgres.client import connect, interrupt
from executors.postgres.fences import raise_fence
from executors.postgres.table_lock import refuse_busy
from executors.runs.target_run import TargetRun
from executors.table_name import TableName
from executors.target_hooks import TargetHooks
from ir.pipeline import Path

if TYPE_CHECKING:
    from executors.runs.state import RunContext


def open_target(handler: DestinationHandler, context: RunContext, paths: tuple[Path, ...], access: Access) -> TargetRun:
    """See `DestinationHandler.open`."""
    target = _connect(handler, context, paths)
    meta.ensure_meta(target.connection)
    if access == "load":
        target = _fence(context, target)
    if access != "sample":
        _refuse_older_state(context, target)
        target = _inspect_table(context, target)
    return target


def _connect(handler: DestinationHandler, context: RunContext, paths: tuple[Path, ...]) -> TargetRun:
    job, target = context.job, paths[0].target
    name = f"flow run {job.run_id}"
    connection = connect(job.connections[target.connection], autocommit=True, application_name=name)
    context.stack.enter_context(connection)
    hooks = TargetHooks(job, context.ports, context.report, target)
    context.interrupts.add(hooks.interrupt)
    context.interrupts.add(lambda: interrupt(connection))
    return TargetRun(handler, paths, connection, hooks)


def _fence(context: RunContext, target: TargetRun) -> TargetRun:
    """Prevent older attempts from loading, and find what one of them has committed. What an earlier window of a stream
    has committed is reported, because its worker may have ended before it could; the window loads what follows it."""
    node, run = target.path.target, context.run_ref(target.path.target)
    raise_fence(target.connection, *key_of(context.job, target), run.token, run.chunk)
    commits = meta.find_commits(target.connection, context.job.run_id)
    commit = next((commit for commit in commits if commit.node == node.id), None)
    if commit and run.is_window:
        context.ports.events.committed(commit)
        commit = None
    if commit is None and context.job.chunk is not None:
        refuse_loaded(target.connection, context.job, node)
    elif commit is None:  # chunks of one backfill take turns with the table
        refuse_busy(target.connection, TableName(node.schema_, node.table), node.id)
    return replace(target, commit=commit)


def _refuse_older_state(context: RunContext, target: TargetRun) -> None:
    """Refuse a database that no longer contains the last known load."""
    node = target.path.target
    known = context.ports.last_commit(node.id)
    if known and not meta.last_commit_exists(target.connection, *key_of(context.job, target), known):
        raise Terminal(
            "target.went_back",
            f"{node.schema_}.{node.table} no longer holds the load of run {known}: the database was restored "
            "or failed over to an older state.",
            node=node.id,
            hint="Compare the table with its source, then load what is missing again, with a reason.",
        )


def _inspect_table(context: RunContext, target: TargetRun) -> TargetRun:
    """Refuse a table that cannot be loaded, and log how its rows will be replaced."""
    node = target.path.target
    dest = refuse_unloadable(target.connection, node)
    if dest and dest.replacing:
        context.log(dest.replacing.sentence(f"{dest.schema}.{dest.table}"), node)
    return replace(target, table_exists=dest is not None)


def key_of(job: RunJob, target: TargetRun) -> tuple[str, str, str]:
    """Return the key of the target's commits in its database."""
    return job.tenant, job.pipeline.id, target.path.target.id
