"""Execute a claimed run, in workers and in the process of `flow run`."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import InterfaceError, OperationalError, connections

from executors.errors import Cancelled, Terminal, Transient
from executors.model import RunJob
from executors.report import RunReport
from flowapp.accounts.models import User
from flowapp.clock import Now
from flowapp.connections.services import refuse_control_databases, resolve_connections, resolve_stores, resolve_webhooks
from flowapp.logs import log_crash
from flowapp.modules.services import resolve_modules
from flowapp.pipelines.documents import read_document
from flowapp.pipelines.models import Pipeline
from flowapp.processes.heartbeats import process_name
from flowapp.runs.events import find_accepted_changes, find_rejected_changes, parked_run_idle, run_started
from flowapp.runs.finalizing import cancelled
from flowapp.runs.holds import approved_loads
from flowapp.runs.leases import Claim, LeaseRenewer, claim_run
from flowapp.runs.models import CLAIMABLE, LOADED, RESTING, Run, RunKind, State, Trigger
from flowapp.runs.outcomes import end_badly, end_well
from flowapp.runs.ports import DatabaseEvents, make_ports
from flowapp.runs.recovery import adopt_inline, find_parked, recover_lost_runs
from flowapp.runs.run_kinds import Engine, run_kind_of
from flowapp.runs.services import IfBusy, cancel_run, queue_preview, queue_run
from ir.errors import FlowError

logger = logging.getLogger(__name__)
LOOK_AGAIN_SECONDS = 0.5


def engine_for(run: Run) -> Engine:
    """Return the engine for the run's kind."""
    return run_kind_of(run).engine


def execute_claimed(
    claim: Claim,
    engine: Engine | None = None,
    *,
    can_wait: bool = True,
    before_end: Callable[[FlowError], None] = lambda error: None,
) -> FlowError | None:
    """Run a claimed attempt to its end and record the result; return the error that ended it, or None on success.

    `can_wait` says whether the run may return to the queue to wait for files. `before_end` is called with an error
    before the run ends or is requeued, when another worker may claim it.
    """
    run = Run.objects.select_related("pipeline", "version", "workspace").get(pk=claim.run_id)
    try:
        minutes = read_document(run.document).error_handling.max_minutes
    except FlowError as error:  # saved by a newer release, or by one that allowed more
        end_badly(claim, run, error)
        return error
    renewer = LeaseRenewer(claim, minutes * 60)
    renewer.start()
    try:
        ended_by = _attempt(claim, run, engine or engine_for(run), renewer, can_wait)
        if ended_by is not None:
            reason = renewer.reason or ended_by
            before_end(ended_by)
            end_badly(claim, run, reason)
        return ended_by
    finally:
        renewer.stop()


def _attempt(claim: Claim, run: Run, engine: Engine, renewer: LeaseRenewer, can_wait: bool) -> FlowError | None:
    """Execute the attempt. An exception ends only this attempt."""
    try:
        if run.cancel_requested:
            return cancelled()
        run_started(run)
        report = _carry_out(engine, make_job(claim, run, can_wait), claim, run, renewer)
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
    except Exception as error:  # noqa: BLE001 - log_crash logs it without row values
        log_crash(logger, f"Run {run.pk} crashed", error)
        return Terminal(
            "run.crashed",
            f"Unexpected error: {type(error).__name__}.",
            hint="See the log of the process that ran it.",
        )
    return None


def _carry_out(engine: Engine, job: RunJob, claim: Claim, run: Run, renewer: LeaseRenewer) -> RunReport:
    """Let the engine execute the attempt, and close its last step."""
    events = DatabaseEvents(claim, run)
    try:
        return engine(job, run_kind_of(run).add_to_ports(run, make_ports(claim, run, renewer, events)))
    finally:
        events.close()


def make_job(claim: Claim, run: Run, can_wait: bool) -> RunJob:
    """Build the engine's input. Raises FlowError if a connection is unknown or its secret cannot be decrypted."""
    document = read_document(run.document)
    connections = resolve_connections(run.workspace, document)
    refuse_control_databases(connections.values())
    job = RunJob(
        run_id=str(run.pk),
        tenant=str(run.workspace_id),
        pipeline=document,
        version=run.version_number or 0,
        attempt=claim.attempt,
        token=claim.token,
        connections=connections,
        webhooks=resolve_webhooks(run.workspace, document),
        stores=resolve_stores(run.workspace, document),
        files_folder=settings.FILES_ROOT / run.workspace.slug,
        taps=settings.TAPS,
        approved=approved_loads(run),
        backup=run_kind_of(run).backup(run),
        rows=run_kind_of(run).rows(run),
        undo=run_kind_of(run).undo(run),
        only_targets=frozenset(run.only_targets),
        modules=resolve_modules(run.workspace, document),
        accepted_changes={node: ids for found in find_accepted_changes(run) for node, ids in found.items()},
        rejected_changes={node: ids for found in find_rejected_changes(run) for node, ids in found.items()},
        waited=run.waits if can_wait and run.may_wait_for_files and run_kind_of(run).counts else None,
    )
    return run_kind_of(run).add_to_job(run, job)


def run_inline(
    pipeline: Pipeline,
    *,
    trigger: Trigger = Trigger.CLI,
    if_busy: IfBusy = "refuse",
    load_again: str | None = None,
    user: User | None = None,
    engine: Engine | None = None,
) -> Run:
    """Queue a run and execute it in this process to its end, with retries. It needs no worker and no scheduler.

    First, this process finishes runs that a killed process has left behind; it continues a parked run instead of
    queueing one. Raises the errors of `queue_run`.
    """
    finish_abandoned(pipeline, RunKind.LOAD, engine)
    run = find_parked(pipeline) or queue_run(
        pipeline, trigger, if_busy=if_busy, load_again=load_again, user=user, send=False
    )
    return run_to_end_with_followers(run, engine)


def run_to_end_with_followers(run: Run, engine: Engine | None = None) -> Run:
    """Execute a run, then the runs of its pipeline that its end has queued for this process. Returns the first of them
    that has loaded nothing, or else the given run."""
    run_to_end(run, engine)
    if run.ended_at is None:  # held
        return run
    later = Run.counted.filter(pipeline=run.pipeline, state=State.QUEUED, sent_at=None, queued_at__gte=run.ended_at)
    for follower in later.select_related("pipeline").order_by("number"):
        if run_to_end(follower, engine).state not in LOADED:
            return follower
    return run


def finish_abandoned(pipeline: Pipeline, kind: RunKind, engine: Engine | None) -> None:
    """Finish the runs that a killed process has left, before this process executes another run of the pipeline.
    `engine` executes runs of that kind; other kinds use their own engine."""
    recover_lost_runs(pipeline)
    for left_behind in adopt_inline(pipeline):
        run_to_end(left_behind, engine if left_behind.kind == kind else None)


def preview_inline(pipeline: Pipeline, *, trigger: Trigger = Trigger.CLI, engine: Engine | None = None) -> Run:
    """Preview in this process what a run would change. Raises the errors of `queue_preview`."""
    return run_to_end(queue_preview(pipeline, trigger, send=False), engine)


def run_to_end(run: Run, engine: Engine | None = None) -> Run:
    """Claim and execute a queued run until it has ended or is held, in this process or elsewhere. If it is parked, this
    process executes its children, one after the other."""
    owner = process_name()
    with cancelling_on_interrupt(run):
        while run.state not in RESTING:
            if claim := claim_run(run.pk, owner) or _claim_child(run, owner):
                execute_claimed(claim, engine, can_wait=False)
            else:
                if run.is_parked:
                    parked_run_idle(run)
                time.sleep(LOOK_AGAIN_SECONDS)
                recover_lost_runs(run.pipeline)
            run.refresh_from_db()
    return run


def _claim_child(run: Run, owner: str) -> Claim | None:
    """Claim the oldest child of a parked run that is due and that no other process holds."""
    if not run.is_parked:
        return None
    due = run.children.filter(state__in=CLAIMABLE, due_at__lte=Now()).order_by("queued_at", "number")
    return next(filter(None, (claim_run(key, owner) for key in due.values_list("pk", flat=True))), None)


@contextmanager
def cancelling_on_interrupt(run: Run) -> Iterator[None]:
    """Cancel the run on Ctrl-C in the block."""
    try:
        yield
    except KeyboardInterrupt:
        run.refresh_from_db()
        if run.state not in RESTING:
            cancel_run(run)
        raise
