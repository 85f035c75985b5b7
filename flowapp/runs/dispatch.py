"""Executing a claimed run: the same for workers and for `flow run` in its own process."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import InterfaceError, OperationalError, connections

from executors.errors import Cancelled, Terminal, Transient
from executors.model import RunJob
from flowapp.accounts.models import User
from flowapp.connections.services import refuse_control_databases, resolve_connections, resolve_webhooks
from flowapp.pipelines.documents import read_document
from flowapp.pipelines.models import Pipeline
from flowapp.processes.heartbeats import process_name
from flowapp.runs.holds import approved_loads
from flowapp.runs.leases import Claim, LeaseRenewer, claim_run
from flowapp.runs.models import RESTING, Run, RunKind, Trigger
from flowapp.runs.outcomes import cancelled, end_badly, end_well
from flowapp.runs.ports import make_ports
from flowapp.runs.recovery import adopt_inline, recover_lost_runs
from flowapp.runs.run_kinds import Engine, run_kind_of
from flowapp.runs.services import IfBusy, cancel_run, queue_preview, queue_run
from ir.errors import FlowError

logger = logging.getLogger(__name__)
LOOK_AGAIN_SECONDS = 0.5


def engine_for(run: Run) -> Engine:
    """The real engine of what the run is for."""
    return run_kind_of(run).engine


def execute_claimed(
    claim: Claim,
    engine: Engine | None = None,
    *,
    can_wait: bool = True,
    before_end: Callable[[FlowError], None] = lambda error: None,
) -> FlowError | None:
    """Run a claimed attempt to its end and write down how it went; returns what ended it, if not success.

    `can_wait` says whether the run may go back to wait for files. `before_end` hears of an error before the run is
    ended or put back, and with it perhaps taken by another.
    """
    run = Run.objects.select_related("pipeline", "version", "workspace").get(pk=claim.run_id)
    try:
        minutes = read_document(run.document).error_handling.max_minutes
    except FlowError as error:  # saved by a release that knew more, or allowed more
        end_badly(claim, run, error)
        return error
    renewer = LeaseRenewer(claim, minutes * 60)
    renewer.start()
    try:
        ended_by = _attempt(claim, run, engine or engine_for(run), renewer, can_wait)
        if ended_by is not None:
            before_end(ended_by)
            end_badly(claim, run, renewer.reason or ended_by)
        return ended_by
    finally:
        renewer.stop()


def _attempt(claim: Claim, run: Run, engine: Engine, renewer: LeaseRenewer, can_wait: bool) -> FlowError | None:
    """The run's edge: whatever is raised in here ends this attempt, and nothing else."""
    try:
        if run.cancel_requested:
            return cancelled()
        report = engine(make_job(claim, run, can_wait), make_ports(claim, run, renewer))
        end_well(claim, run, report)
    except FlowError as error:
        return error
    except KeyboardInterrupt:
        end_badly(claim, run, Cancelled("run.interrupted", "The process of the run was interrupted."))
        raise
    except (OperationalError, InterfaceError) as error:
        logger.warning("Run %s could not be saved: %s", run.pk, type(error).__name__)
        connections.close_all()
        return Transient("control.unreachable", "The connection to the control database was lost during the run.")
    except Exception as error:
        logger.exception("Run %s crashed", run.pk)
        return Terminal(
            "run.crashed",
            f"Unexpected error: {type(error).__name__}.",
            hint="See the log of the process that ran it.",
        )
    return None


def make_job(claim: Claim, run: Run, can_wait: bool) -> RunJob:
    """What the engine is given. Raises FlowError when a connection is unknown or cannot be decrypted."""
    document = read_document(run.document)
    connections = resolve_connections(run.workspace, document)
    refuse_control_databases(connections.values())
    return RunJob(
        run_id=str(run.pk),
        tenant=str(run.workspace_id),
        pipeline=document,
        version=run.version_number or 0,
        attempt=claim.attempt,
        token=claim.token,
        connections=connections,
        webhooks=resolve_webhooks(run.workspace, document),
        files_folder=settings.FILES_ROOT / run.workspace.slug,
        approved=approved_loads(run),
        backup=run_kind_of(run).backup(run),
        rows=run_kind_of(run).rows(run),
        waited=run.waits if can_wait and run.may_wait_for_files and run_kind_of(run).counts else None,
    )


def run_inline(
    pipeline: Pipeline,
    *,
    trigger: Trigger = Trigger.CLI,
    if_busy: IfBusy = "refuse",
    load_again: str | None = None,
    user: User | None = None,
    engine: Engine | None = None,
) -> Run:
    """Queue a run and execute it in this process to its end, retries included. No worker or scheduler is needed.

    Runs that an earlier such process left behind when it was killed are finished first. Raises as `queue_run` does.
    """
    finish_abandoned(pipeline, RunKind.LOAD, engine)
    run = queue_run(pipeline, trigger, if_busy=if_busy, load_again=load_again, user=user, send=False)
    return run_to_end(run, engine)


def finish_abandoned(pipeline: Pipeline, kind: RunKind, engine: Engine | None) -> None:
    """Finish the runs of a pipeline that an earlier process left when it was killed, before one that this process is to
    execute. `engine` executes runs of that kind; others use their own."""
    recover_lost_runs(pipeline)
    for left_behind in adopt_inline(pipeline):
        run_to_end(left_behind, engine if left_behind.kind == kind else None)


def preview_inline(pipeline: Pipeline, *, trigger: Trigger = Trigger.CLI, engine: Engine | None = None) -> Run:
    """Find out in this process what a run would change. Raises as `queue_preview` does."""
    return run_to_end(queue_preview(pipeline, trigger, send=False), engine)


def run_to_end(run: Run, engine: Engine | None = None) -> Run:
    """Execute a queued run whenever it can be had, until it has ended or is held, here or elsewhere."""
    owner = process_name()
    with cancelling_on_interrupt(run):
        while run.state not in RESTING:
            if claim := claim_run(run.pk, owner):
                execute_claimed(claim, engine, can_wait=False)
            else:
                time.sleep(LOOK_AGAIN_SECONDS)
                recover_lost_runs(run.pipeline)
            run.refresh_from_db()
    return run


@contextmanager
def cancelling_on_interrupt(run: Run) -> Iterator[None]:
    """Ctrl-C in the block cancels the run."""
    try:
        yield
    except KeyboardInterrupt:
        run.refresh_from_db()
        if run.state not in RESTING:
            cancel_run(run)
        raise
