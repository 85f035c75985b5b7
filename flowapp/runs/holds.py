"""Held loads: store them and record the decision, which only one person makes.

While a run is held, or approved and not yet loaded, the other runs of its pipeline wait: they would read the same
files, and the older staged rows would later overwrite their result.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from itertools import chain

from django.conf import settings
from django.db import transaction
from django.db.models import F

from executors.api import ClaimedFile, Held, StagedLoad, archive_discarded
from executors.target_database import drop_staged_load
from flowapp.accounts.models import User
from flowapp.alerts.isolation import Isolation
from flowapp.alerts.services import raise_alert, resolve_by
from flowapp.batches import in_batches
from flowapp.clock import Now, from_now
from flowapp.connections.services import resolve_connections, resolve_stores
from flowapp.pipelines.documents import read_document
from flowapp.runs.broker import send_next_of, send_run
from flowapp.runs.events import run_ended
from flowapp.runs.hold_record import HoldRecord
from flowapp.runs.leases import Claim
from flowapp.runs.load_units.models import UnitState
from flowapp.runs.load_units.services import release_units, units_of
from flowapp.runs.models import CommitRecord, Decision, HeldLoad, Run, RunLog, State
from flowapp.runs.sort_values import store_sort_values
from ir.errors import FlowError

logger = logging.getLogger(__name__)
LONGEST_REASON = 2000


@dataclass(frozen=True, slots=True)
class Decider:
    """The person who decides: `words` is the recorded name, and the account is set if there is one."""

    words: str
    user: User | None = None


NOBODY = Decider("nobody")


def hold_run(claim: Claim, run: Run, held: Held) -> None:
    """Store the staged load until a person decides. The run no longer has a worker."""
    with transaction.atomic():
        claim.guard()
        HeldLoad.objects.create(
            workspace_id=run.workspace_id,
            run=run,
            node=held.node or "",
            attempt=claim.attempt,
            record=HoldRecord.of(held).to_json(),
            held_at=Now(),
            expires_at=from_now(settings.HOLD_HOURS * 3600),
        )
        changed = claim.held().update(
            state=State.HELD,
            idle_since=Now(),
            lease_owner="",
            lease_until=None,
            step="",
            error_code=held.code,
            error_node=held.node or "",
            error_message=held.message,
            error_hint=held.hint,
        )
        if not changed:
            raise claim.lost()
        raise_alert(
            "run.held",
            "warning",
            f"{run.pipeline} waits for a decision: {held.message}",
            f"Approve or discard run {run.number} within {settings.HOLD_HOURS:g} h. Later runs wait for it.",
            pipeline=run.pipeline,
            run=run,
            node=held.node or "",
        )


def approved_loads(run: Run) -> dict[str, StagedLoad]:
    """Return the newest staged and approved load of each target node."""
    approved = HeldLoad.objects.filter(run=run, decision=Decision.APPROVED).order_by("attempt")
    return {hold.node: hold.held.staged for hold in approved}


def is_pending(run: Run, attempt: int) -> bool:
    """Return whether a staged attempt waits for a decision or for its load."""
    return HeldLoad.objects.filter(run=run, attempt=attempt, decision__in=("", Decision.APPROVED)).exists()


def approve_run(run: Run, by: Decider, reason: str = "", *, send: bool = True) -> Run:
    """Queue the load of what is staged. Raises FlowError `run.not_held` for all but the first decision.

    Without `send` the caller loads it in its own process.
    """
    with transaction.atomic():
        _decide(run, Decision.APPROVED, by, reason)
        cleared = {"error_code": "", "error_node": "", "error_message": "", "error_hint": "", "error_detail": ""}
        Run.objects.filter(pk=run.pk).update(
            state=State.APPROVED, due_at=Now(), sent_at=Now() if send else F("sent_at"), **cleared
        )
        if send:
            transaction.on_commit(lambda: send_run(run.pk))
    return _decided(run)


def discard_run(run: Run, by: Decider, reason: str) -> Run:
    """Reject what is staged: the target stays unchanged, and the files count as failed.

    Raises FlowError `reason.required`, and `run.not_held` for all but the first decision.
    """
    if not reason.strip():
        raise FlowError("reason.required", "Rejecting a load needs a reason.", hint="Give a reason. It is stored.")
    return _end(run, Decision.DISCARDED, by, reason.strip())


def expire_holds() -> int:
    """Reject holds whose time limit has passed without a decision; return their number."""
    late = HeldLoad.objects.filter(decision="", expires_at__lt=Now()).select_related("run__pipeline", "run__version")
    expired, isolation = 0, Isolation("expire holds")
    for hold in late.order_by("expires_at"):
        if isolation.leaves_alone(hold.run.pipeline_id):
            continue
        with isolation.of(hold.run.pipeline):
            try:
                _end(hold.run, Decision.EXPIRED, NOBODY, f"No decision within {settings.HOLD_HOURS:g} h.")
            except FlowError as error:  # another decision was made meanwhile
                logger.info("%s", error)
            else:
                expired += 1
    return expired


def _end(run: Run, decision: Decision, by: Decider, reason: str) -> Run:
    with transaction.atomic():
        hold = _decide(run, decision, by, reason)
        text = f"{decision.label} by {by.words}: {reason}" if by is not NOBODY else reason
        Run.objects.filter(pk=run.pk).update(
            state=State.DISCARDED,
            ended_at=Now(),
            error_code=f"run.{decision}",
            error_message=text,
            error_hint=f"{_what_was_loaded(run)} Correct the source or the limits, then run the pipeline again.",
        )
        store_sort_values(run.pk)
        release_units(run, UnitState.FAILED, text)
        run_ended(run, State.DISCARDED)
        transaction.on_commit(lambda: send_next_of(run.pipeline_id))
    _clean_up(run, hold)
    return _decided(run)


def _what_was_loaded(run: Run) -> str:
    """Describe what was loaded. Targets commit separately: some may have committed before another was held."""
    loaded = CommitRecord.objects.filter(run=run).order_by("node").values_list("node", flat=True)
    return f"Only {', '.join(loaded)} had been loaded before." if loaded else "Nothing was loaded."


def _decide(run: Run, decision: Decision, by: Decider, reason: str) -> HeldLoad:
    """Record the decision unless one exists. Runs in the caller's transaction, which also changes the run."""
    # No join: a subquery would be evaluated before a concurrent decision is visible.
    open_holds = HeldLoad.objects.filter(run=run, decision="")
    decided = {"decision": decision, "decided_at": Now(), "decided_by": by.user, "decided_as": by.words[:300]}
    if not open_holds.update(**decided, reason=reason[:LONGEST_REASON]):
        raise _not_held(run)
    hold = HeldLoad.objects.filter(run=run).latest("attempt")
    because = f": {reason}" if reason else "."
    RunLog.objects.create(
        workspace_id=run.workspace_id,
        run=run,
        attempt=hold.attempt,
        at=Now(),
        level="info",
        node=hold.node,
        message=f"{decision.label} by {by.words}{because}"[:LONGEST_REASON],
    )
    return hold


def _not_held(run: Run) -> FlowError:
    run.refresh_from_db()
    last = HeldLoad.objects.filter(run=run).exclude(decision="").order_by("-attempt").first()
    who = f" It was {last.decision} by {last.decided_as}." if last else ""
    return FlowError(
        "run.not_held", f"Run {run.name} is not held: it is {run.state}.{who}", hint="Open the run for details."
    )


def _decided(run: Run) -> Run:
    resolve_by("hold.decided", pipeline_id=run.pipeline_id)
    run.refresh_from_db()
    return run


def _clean_up(run: Run, hold: HeldLoad) -> None:
    """Clean up staging tables and files. Unreachable data is swept later or used by the next run."""
    try:
        document = read_document(run.document)
        target = next(target for target in document.targets() if target.id == hold.node)
        folder, files = settings.FILES_ROOT / run.workspace.slug, _files_of(run, hold)
        stores, tenant = resolve_stores(run.workspace, document), str(run.workspace_id)
        for source in document.sources_of(target):
            archive_discarded(document, tenant, source, folder, stores.get(source.connection or ""), files)
        drop_staged(run, hold)
    except FlowError as trouble:
        logger.warning("Run %s was discarded, but cleanup is incomplete: %s", run.pk, trouble)


def _files_of(run: Run, hold: HeldLoad) -> set[ClaimedFile]:
    batches = in_batches(hold.held.staged.units)
    found = (units_of(run.pipeline_id, batch).values_list("name", "size", "mtime_ns") for batch in batches)
    return {ClaimedFile(name, size, mtime) for name, size, mtime in chain.from_iterable(found) if mtime is not None}


def drop_staged(run: Run, hold: HeldLoad) -> None:
    """Drop what a load has staged. Raises FlowError."""
    document = read_document(run.document)
    target = next(target for target in document.targets() if target.id == hold.node)
    connection = resolve_connections(run.workspace, document)[target.connection]
    drop_staged_load(connection, str(run.pk), hold.node, hold.held.staged.attempt)


def drop_approved(run: Run) -> None:
    """Drop approved staging tables once no attempt will load them. Unreachable tables are swept later."""
    for hold in HeldLoad.objects.filter(run=run, decision=Decision.APPROVED):
        try:
            drop_staged(run, hold)
        except FlowError as trouble:
            logger.warning("The staged rows of run %s remain until the next cleanup: %s", run.pk, trouble)
