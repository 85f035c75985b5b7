"""Request and cancel runs. `dispatch` executes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from django.db import transaction
from django.db.models import F, Q

from flowapp.accounts.models import User
from flowapp.clock import Now
from flowapp.pipelines.documents import read_document
from flowapp.pipelines.models import Pipeline, PipelineVersion
from flowapp.runs.broker import send_run
from flowapp.runs.events import load_requested, run_cancelled, run_queued
from flowapp.runs.finalizing import end_queued
from flowapp.runs.load_units.services import load_again as forget_loads
from flowapp.runs.models import ACTIVE, CLAIMABLE, COUNTED, CommitRecord, Run, RunKind, State, Trigger
from flowapp.runs.targets import missing_targets, targets_of
from ir.connectors import CONNECTORS
from ir.errors import FlowError

IfBusy = Literal["wait", "refuse"]
UNATTENDED_ATTEMPTS, ATTENDED_ATTEMPTS = 3, 1
STREAM_ATTEMPTS = 100
"""The maximum number of attempts of a stream without a good window in between."""


def queue_run(
    pipeline: Pipeline,
    trigger: Trigger,
    *,
    if_busy: IfBusy = "wait",
    load_again: str | None = None,
    user: User | None = None,
    send: bool = True,
    may_wait_for_files: bool = True,
    trigger_name: str = "",
    kind: RunKind | None = None,
) -> Run:
    """Request a run of the newest version; the task is sent after the caller's transaction commits.

    `load_again` is the reason to load everything again. Without `send` the caller runs it in its own process. Without a
    `kind`, other apps may run another kind in place of a load.
    `may_wait_for_files` says whether it may return to the queue until its files arrive. Raises FlowError `run.busy` (if
    busy is refused), `pipeline.archived`, `pipeline.disabled`, `pipeline.no_version`.
    """
    with transaction.atomic():
        number = _next_number(pipeline, "run_counter")
        version = _newest_version(pipeline)
        if if_busy == "refuse":
            _refuse_if_busy(pipeline)
        kind = kind or _kind_of_load(pipeline, trigger, load_again is not None)
        if load_again is not None:
            forget_loads(pipeline, load_again)
        return _create_run(
            pipeline,
            version,
            send,
            number=number,
            kind=kind,
            trigger=trigger,
            requested_by=user,
            max_attempts=STREAM_ATTEMPTS if kind == RunKind.STREAM else max_attempts(version, trigger),
            may_wait_for_files=may_wait_for_files,
            trigger_name=trigger_name,
        )


def _kind_of_load(pipeline: Pipeline, trigger: Trigger, is_again: bool) -> RunKind:
    """Return what a request for a load becomes. Raises FlowError if another app refuses it."""
    return next(filter(None, load_requested(pipeline, trigger, is_again)), RunKind.LOAD)


def retry_missing(run: Run, trigger: Trigger, *, user: User | None = None, send: bool = True) -> Run:
    """Request a run of the same version that loads what a partially loaded run has not loaded.

    Loaded targets take part only if their source gives files, of which each target loads those that it lacks. Raises
    FlowError `run.not_partial`, `run.retried`, and the errors of `queue_run`."""
    with transaction.atomic():
        number = _next_number(run.pipeline, "run_counter")
        if run.state != State.PARTIALLY_LOADED or run.version is None or run.kind != RunKind.LOAD:
            raise FlowError(
                "run.not_partial",
                f"Run {run.name} is not a load that is partially loaded.",
                hint="Run the pipeline again.",
            )
        missing = missing_targets(run)
        _refuse_if_loaded_since(run, missing)
        return _create_run(
            run.pipeline,
            run.version,
            send,
            number=number,
            trigger=trigger,
            requested_by=user,
            max_attempts=max_attempts(run.version, trigger),
            only_targets=sorted(missing | _reading_files(run)),
            retry_of=run,
        )


def _reading_files(run: Run) -> set[str]:
    """Return the targets of a run with a source of files. A file is done only once all of them have loaded it."""
    document = read_document(run.document)
    sources = {target.id: document.sources_of(target) for target in document.targets()}
    reads = {node: {CONNECTORS[source.connector].reads for source in found} for node, found in sources.items()}
    return {node for node in targets_of(run) if "files" in reads[node]}


def _refuse_if_loaded_since(run: Run, missing: set[str]) -> None:
    """Raise FlowError if the rows have been loaded since, by another retry or by a later run: they must not be loaded
    twice. Imported runs may have higher numbers than later ones."""
    retry = run.retries.exclude(state__in=(State.FAILED, State.CANCELLED)).order_by("number").first()
    since = Q(run__number__gt=run.number) | Q(committed_at__gt=run.ended_at)
    later = CommitRecord.objects.filter(since, pipeline_id=run.pipeline_id, node__in=missing)
    done = retry or (commit.run if (commit := later.select_related("run").first()) else None)
    if done is not None:
        raise FlowError(
            "run.retried",
            f"Run {done.name} has loaded the missing targets of run {run.name}, or is about to.",
            hint="See that run. If it failed, retry that one.",
        )


def queue_preview(pipeline: Pipeline, trigger: Trigger, *, user: User | None = None, send: bool = True) -> Run:
    """Request a preview of a run of the newest version. It waits for no run, and no run waits for it.

    Raises FlowError `pipeline.disabled`, `pipeline.no_version`.
    """
    return queue_for(RunKind.PREVIEW, pipeline, trigger, user=user, send=send)


def queue_for(
    kind: RunKind,
    pipeline: Pipeline,
    trigger: Trigger,
    *,
    user: User | None = None,
    send: bool = True,
    draft_document: str = "",
) -> Run:
    """Request a run that does not load the source: of the newest version, or of the given part of a draft. Raises the
    errors of `queue_preview`."""
    with transaction.atomic():
        number = _next_number(pipeline, "run_counter" if kind in COUNTED else "trial_counter")
        version = None if draft_document else _newest_version(pipeline)
        return _create_run(
            pipeline,
            version,
            send,
            number=number,
            trigger=trigger,
            requested_by=user,
            kind=kind,
            draft_document=draft_document,
        )


def queue_child(parent: Run, kind: RunKind, *, send: bool = True) -> Run:
    """Request a run that does a part of a parked run, of its version. It does not count as a run of the pipeline.

    Raises FlowError `pipeline.disabled`, `pipeline.archived`."""
    version = parent.version or _newest_version(parent.pipeline)
    with transaction.atomic():
        return _create_run(
            parent.pipeline,
            version,
            send,
            number=_next_number(parent.pipeline, "trial_counter"),
            kind=kind,
            parent=parent,
            trigger=parent.trigger,
            requested_by=parent.requested_by,
            max_attempts=max_attempts(version, Trigger.SCHEDULE),
            may_wait_for_files=False,
        )


QUEUES: dict[RunKind, Callable[..., Run]] = {RunKind.LOAD: queue_run, RunKind.PREVIEW: queue_preview}
"""The functions that queue a run of each kind."""


def read_run_kind(text: str) -> RunKind:
    """Return the kind of that name. Raises FlowError."""
    if text not in QUEUES:
        raise FlowError("run.kind_unknown", f"Unknown kind of run {text!r}.", hint=f"Kinds: {', '.join(QUEUES)}.")
    return RunKind(text)


def _create_run(pipeline: Pipeline, version: PipelineVersion | None, send: bool, **values: Any) -> Run:
    run = Run.objects.create(
        workspace_id=pipeline.workspace_id,
        pipeline=pipeline,
        version=version,
        queued_at=Now(),
        due_at=Now(),
        sent_at=Now() if send else None,
        **values,
    )
    if send:
        transaction.on_commit(lambda: send_run(run.pk))
    run.refresh_from_db()
    run_queued(run)
    return run


def _next_number(pipeline: Pipeline, counter: Literal["run_counter", "trial_counter"]) -> int:
    """Return the next number of a series. The row lock also serializes requests for runs of a pipeline."""
    runnable = Pipeline.objects.filter(pk=pipeline.pk, enabled=True, archived_at=None)
    if not runnable.update(**{counter: F(counter) + 1}):
        raise _not_runnable(pipeline)
    return int(Pipeline.objects.values_list(counter, flat=True).get(pk=pipeline.pk))


def _not_runnable(pipeline: Pipeline) -> FlowError:
    if Pipeline.objects.filter(pk=pipeline.pk).exclude(archived_at=None).exists():
        return FlowError(
            "pipeline.archived",
            f"Pipeline {pipeline.slug!r} is archived.",
            hint="Restore it from the archive, then run it.",
        )
    return FlowError("pipeline.disabled", f"Pipeline {pipeline.slug!r} is disabled.", hint="Enable it, then run it.")


def _newest_version(pipeline: Pipeline) -> PipelineVersion:
    version = PipelineVersion.objects.filter(pipeline=pipeline).order_by("-number").first()
    if version is None:
        raise FlowError("pipeline.no_version", f"Pipeline {pipeline.slug!r} has no saved version.", hint="Save one.")
    return version


def _refuse_if_busy(pipeline: Pipeline) -> None:
    busy = Run.counted.filter(pipeline=pipeline, state__in=ACTIVE).order_by("queued_at").first()
    if busy:
        raise FlowError(
            "run.busy",
            f"Pipeline {pipeline.slug!r} is busy: run {busy.name} is {busy.state}.",
            hint="Approve or discard it, or request a run that waits."
            if busy.state == State.HELD
            else "Wait for it or cancel it, or request a run that waits.",
        )


def max_attempts(version: PipelineVersion, trigger: Trigger) -> int:
    """Return the maximum number of attempts of a run of the version."""
    if version.max_attempts is not None:
        return version.max_attempts
    return UNATTENDED_ATTEMPTS if trigger in (Trigger.SCHEDULE, Trigger.WEBHOOK) else ATTENDED_ATTEMPTS


def withdraw_run(run: Run) -> None:
    """Cancel a run that waits for a process. One that a process has claimed meanwhile goes on."""
    if Run.objects.filter(pk=run.pk, state__in=CLAIMABLE).update(cancel_requested=True):
        end_queued(run.pk)


def cancel_run(run: Run) -> Run:
    """Cancel a run. A queued run ends at once, a running one within seconds. Raises FlowError if it has ended."""
    if not Run.objects.filter(pk=run.pk, state__in=(*CLAIMABLE, State.RUNNING)).update(cancel_requested=True):
        run.refresh_from_db()
        if run.state == State.HELD:
            raise FlowError("run.held", f"Run {run.name} is waiting for approval.", hint="Approve or discard it.")
        raise FlowError(
            "run.ended", f"Run {run.name} has ended: it is {run.state}.", hint="There is nothing to cancel."
        )
    end_queued(run.pk)
    run_cancelled(run)
    run.refresh_from_db()
    return run
