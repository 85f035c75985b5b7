"""What people do with a backfill. Each act is in the audit log."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import IntegrityError, transaction

from flowapp.accounts.models import User
from flowapp.backfills.advancing import advance_on_commit
from flowapp.backfills.bounds import hull, is_below
from flowapp.backfills.filled import refuse_filled
from flowapp.backfills.models import COMPLETE, Action, Backfill, BackfillAction, Chunk, ChunkStatus
from flowapp.backfills.phases import Event, Phase, next_phase
from flowapp.backfills.selectors import get_backfill, has_backfill
from flowapp.backfills.staleness import list_outdated
from flowapp.backfills.transitions import lock_backfill, lock_pipeline
from flowapp.batches import in_batches
from flowapp.clock import Now
from flowapp.pipelines.models import Pipeline
from flowapp.runs.models import ACTIVE, CLAIMABLE, Run, RunKind, Trigger
from flowapp.runs.services import queue_run, withdraw_run
from ir.errors import FlowError
from ir.words import counted

LONGEST_REASON = 2000


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts, and through which surface."""

    name: str
    trigger: Trigger
    user: User | None = None
    sends: bool = True
    """Whether workers do the work. If not, the next run of the pipeline does it."""


def pause(pipeline: Pipeline, actor: Actor, reason: str = "") -> Backfill:
    """Start no more chunks. Those that a process has begun finish; those that wait for one become pending again. Raises
    FlowError `backfill.state`."""
    backfill = get_backfill(pipeline)
    with transaction.atomic():
        lock_pipeline(pipeline.pk)
        if not Backfill.objects.filter(pk=backfill.pk, paused=False, ended_at=None).update(paused=True):
            raise _wrong_state(backfill, "paused")
        _record(backfill, Action.PAUSE, actor, reason)
        advance_on_commit(backfill)
    for run in Run.objects.filter(parent=backfill.run, kind=RunKind.CHUNK, state__in=CLAIMABLE):
        withdraw_run(run)
    return get_backfill(pipeline)


def resume(pipeline: Pipeline, actor: Actor, reason: str = "") -> Backfill:
    """Go on with a paused backfill. Raises FlowError `backfill.state`, and the errors of `queue_run`."""
    backfill = get_backfill(pipeline)
    with transaction.atomic():
        lock_pipeline(pipeline.pk)
        if not Backfill.objects.filter(pk=backfill.pk, paused=True, ended_at=None).update(paused=False):
            raise _wrong_state(backfill, "resumed")
        _record(backfill, Action.RESUME, actor, reason)
        _go_on(backfill, actor)
    return get_backfill(pipeline)


def retry_failed(pipeline: Pipeline, actor: Actor, reason: str = "") -> Backfill:
    """Make failed chunks pending, and go on with the backfill. Raises FlowError `backfill.nothing_failed`,
    `backfill.paused`, and the errors of `queue_run`."""
    backfill = get_backfill(pipeline)
    with transaction.atomic():
        lock_pipeline(pipeline.pk)
        lock_backfill(backfill)
        failed = backfill.chunks.filter(status=ChunkStatus.FAILED).count()
        if not failed:
            raise FlowError(
                "backfill.nothing_failed",
                f"No chunk of the backfill of {pipeline.slug!r} has failed.",
                hint="There is nothing to retry.",
            )
        _record(backfill, Action.RETRY, actor, reason, f"{counted(failed, 'chunk')}")
        _go_on(backfill, actor)
        backfill.chunks.filter(status=ChunkStatus.FAILED).update(status=ChunkStatus.PENDING)
    return get_backfill(pipeline)


def load_outdated_again(pipeline: Pipeline, actor: Actor, reason: str = "") -> Backfill:
    """Load the chunks again that were loaded with another version of the document, whose rows are replaced. If the
    history is loaded already, this loads the range from the first to the last of them again; otherwise the backfill
    goes on, also if it was paused. Raises FlowError `backfill.nothing_outdated`, `run.busy`, and the errors of `rewind`
    and `queue_run`."""
    backfill = get_backfill(pipeline)
    outdated = list_outdated(backfill)
    ranges = list(outdated.exclude(is_null=True).values_list("lower", "upper"))
    if not ranges:
        raise FlowError(
            "backfill.nothing_outdated",
            f"All chunks of the backfill of {pipeline.slug!r} were loaded as its newest version says.",
            hint="There is nothing to load again.",
        )
    if backfill.run is not None and backfill.run.state in ACTIVE:
        raise FlowError(
            "run.busy",
            f"Run {backfill.run.name} loads chunks with version {backfill.run.version_number} of {pipeline.slug!r}.",
            hint="Pause the backfill. When its chunks have finished, load the chunks of earlier versions again.",
        )
    if backfill.phase == Phase.STREAMING:
        return rewind(pipeline, *hull(ranges), actor, reason)
    with transaction.atomic():
        lock_pipeline(pipeline.pk)
        lock_backfill(backfill)
        Backfill.objects.filter(pk=backfill.pk).update(paused=False)
        keys = list(outdated.values_list("pk", flat=True))
        for batch in in_batches(keys):
            chunks = Chunk.objects.filter(pk__in=batch, status__in=COMPLETE)
            chunks.update(status=ChunkStatus.PENDING, again=True)
        details = f"{counted(len(keys), 'chunk')} of earlier versions"
        _record(backfill, Action.RETRY, actor, reason, details)
        _go_on(backfill, actor)
    return get_backfill(pipeline)


def rewind(pipeline: Pipeline, lower: str | None, upper: str | None, actor: Actor, reason: str) -> Backfill:
    """Load a range of the history again: rows whose cursor is in [`lower`, `upper`). Without `upper`, the range ends
    where the next load of the target begins, or behind the highest value of the source. Without both, the whole history
    is planned and loaded again. Raises FlowError `reason.required`, `run.busy`, `backfill.range_invalid`,
    `backfill.range_of_unfinished`, `backfill.target_filled`, and the errors of `queue_run`."""
    if not reason.strip():
        raise FlowError("reason.required", "Loading a range again needs a reason.", hint="Give a reason. It is stored.")
    old = get_backfill(pipeline)
    _require_backfill(pipeline)
    _refuse_rewind(old, lower, upper)
    if lower is None and upper is None:
        refuse_filled(pipeline, is_loaded=old.phase == Phase.STREAMING)
    with transaction.atomic():
        lock_pipeline(pipeline.pk)
        new = Backfill(
            workspace_id=old.workspace_id,
            pipeline=pipeline,
            number=old.number + 1,
            phase=next_phase(old.phase, Event.REWOUND),
            requested_by=actor.user,
            reason=reason.strip()[:LONGEST_REASON],
            lower=lower,
            upper=upper,
            started_at=Now(),
        )
        Backfill.objects.filter(pk=old.pk, ended_at=None).update(ended_at=Now())
        _insert(new)
        _record(new, Action.REWIND, actor, reason, _range_words(lower, upper))
        if actor.sends:
            queue_run(pipeline, actor.trigger, user=actor.user)
    return get_backfill(pipeline)


def _insert(backfill: Backfill) -> None:
    try:
        with transaction.atomic():
            backfill.save(force_insert=True)
    except IntegrityError as error:  # its number is unique, and another request has just taken it
        raise FlowError(
            "run.busy",
            f"Another request has just started to load a range of {backfill.pipeline.slug!r} again.",
            hint="Look at its range on the page of the backfill, and load yours when it has ended.",
        ) from error


def _refuse_rewind(old: Backfill, lower: str | None, upper: str | None) -> None:
    if old.run is not None and old.run.state in ACTIVE:
        raise FlowError(
            "run.busy",
            f"Pipeline {old.pipeline.slug!r} is busy: run {old.run.name} is {old.run.state}.",
            hint="Pause or cancel it first.",
        )
    if lower is not None and upper is not None and not is_below(lower, upper):
        raise FlowError(
            "backfill.range_invalid",
            f"The range from {lower} to {upper} is empty.",
            hint="Give the lower value first. The upper one is not part of the range.",
        )
    # A range that could not be planned, perhaps because it is mistyped, leaves the loaded history as it was.
    is_loaded = old.phase == Phase.STREAMING or (old.is_rewind and old.planned_at is None)
    if not is_loaded and (lower is not None or upper is not None):
        raise FlowError(
            "backfill.range_of_unfinished",
            f"The history of {old.pipeline.slug!r} is not loaded yet, so no range of it can be loaded again.",
            hint="Finish the backfill first, or give no range to plan and load everything again.",
        )


def _require_backfill(pipeline: Pipeline) -> None:
    if not has_backfill(pipeline):
        raise FlowError(
            "backfill.removed",
            f"The newest document of {pipeline.slug!r} has no backfill.",
            hint="Add it again, or run the pipeline, which then loads everything at once.",
        )


def _range_words(lower: str | None, upper: str | None) -> str:
    if lower is None and upper is None:
        return "everything"
    return " ".join(
        [*([f"from {lower}"] if lower is not None else ()), *([f"to {upper}"] if upper is not None else ())]
    )


def _go_on(backfill: Backfill, actor: Actor) -> None:
    """Let the backfill's run start chunks, or queue another run for it if that one has ended. Without a worker, the
    next run of the pipeline goes on with it."""
    _require_backfill(backfill.pipeline)
    if backfill.run is not None and Run.objects.filter(pk=backfill.run.pk, state__in=ACTIVE).exists():
        advance_on_commit(backfill)
    elif actor.sends:
        queue_run(backfill.pipeline, actor.trigger, user=actor.user)


def _wrong_state(backfill: Backfill, what: str) -> FlowError:
    state = "paused" if backfill.paused else backfill.phase
    return FlowError(
        "backfill.state",
        f"The backfill of {backfill.pipeline.slug!r} is {state}, so it cannot be {what}.",
        hint="`flow backfill status` shows its state.",
    )


def _record(backfill: Backfill, action: Action, actor: Actor, reason: str, details: str = "") -> None:
    BackfillAction.objects.create(
        workspace_id=backfill.workspace_id,
        pipeline=backfill.pipeline,
        backfill=backfill,
        action=action,
        at=Now(),
        done_by=actor.user,
        done_as=actor.name[:300],
        reason=reason.strip()[:LONGEST_REASON],
        details=details,
    )
