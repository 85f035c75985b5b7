"""Rerun hooks of a load that failed or were not run. The load itself is never repeated.

A lease allows one hook at a time to rerun on a finished run; its key is valid for one attempt.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from executors.api import Interruption, rerun_hook
from executors.model import RunJob
from executors.report import HookReport
from flowapp.alerts.services import resolve_by
from flowapp.clock import Now, from_now
from flowapp.connections.services import resolve_connections, resolve_stores, resolve_webhooks
from flowapp.logs import redact
from flowapp.pipelines.documents import read_document
from flowapp.runs.broker import send_hook
from flowapp.runs.models import CommitRecord, Run, RunLog, State
from flowapp.runs.stored_report import StoredReport, redacted_hook
from ir.errors import FlowError
from ir.hooks.base import TargetHook
from ir.nodes import Target
from ir.words import duration_text

STAGE = "postHook"
QUEUED_SECONDS = 300
"""The time in which a worker must begin; after it, users can request the hook again."""
RUNNING_SECONDS = 2700
"""Longer than any hook may take, so that a dead worker does not block the hook forever."""


_running: set[Interruption] = set()


def interrupt_hooks() -> None:
    """End every hook that this process reruns, because the process is shutting down. Users can request each hook
    again."""
    for interruption in list(_running):
        interruption.interrupt()


@contextmanager
def _interruptible() -> Iterator[Interruption]:
    interruption = Interruption()
    _running.add(interruption)
    try:
        yield interruption
    finally:
        _running.discard(interruption)


def can_run_again(run: Run, hook: HookReport) -> bool:
    return run.state == State.LOADED_HOOK_FAILED and hook.stage == STAGE and hook.state != "succeeded"


def ask_for_hook(run: Run, slug: str) -> HookReport:
    """Let a worker rerun one hook. Raises FlowError if the hook does not exist, is done, or another one is in
    progress."""
    with transaction.atomic():
        hook, key = _take_hook(run, slug)
        transaction.on_commit(lambda: send_hook(run.pk, slug, key))
    return hook


def run_hook_here(run: Run, slug: str) -> HookReport:
    """Rerun one hook in this process; return its result. Raises the errors of `ask_for_hook`."""
    _, key = _take_hook(run, slug)
    try:
        run_hook_again(run.pk, slug, key)
    finally:  # Release the lease, so that an interrupt does not block the hook until the lease expires.
        Run.objects.filter(pk=run.pk, lease_owner=key).update(lease_owner="", lease_until=None)
    run.refresh_from_db()
    return _hook_of(run, slug)


def _take_hook(run: Run, slug: str) -> tuple[HookReport, str]:
    """Claim the hook; return it and the key of this attempt."""
    _find(run, slug)
    key = f"hook-{secrets.token_hex(8)}"
    with transaction.atomic():
        if not _take(run, key):
            raise FlowError("hook.busy", "A hook of this run is running.", hint="Wait until it finishes.")
        # Another hook may have ended since the run was read.
        run.refresh_from_db()
        hook = replace(_find(run, slug), state="queued")
        Run.objects.filter(pk=run.pk, lease_owner=key).update(report=_with_hook(run, hook).to_json())
    return hook, key


def _hook_of(run: Run, slug: str) -> HookReport:
    return next(hook for hook in run.stored_report.hooks if hook.id == slug)


def _with_hook(run: Run, hook: HookReport) -> StoredReport:
    """Return the run's report with the hook's new result."""
    report = run.stored_report
    return replace(report, hooks=tuple(hook if one.id == hook.id else one for one in report.hooks))


def _find(run: Run, slug: str) -> HookReport:
    """Return the hook to rerun. Raises FlowError."""
    hooks = run.stored_report.hooks
    hook = next((hook for hook in hooks if hook.id == slug), None)
    if hook is None:
        known = ", ".join(hook.id for hook in hooks) or "none"
        raise FlowError("hook.unknown", f"The run has no hook {slug!r}.", hint=f"Its hooks: {known}.")
    if not can_run_again(run, hook):
        raise FlowError(
            "hook.not_to_run",
            f"The hook {slug} is {hook.state} and the run is {run.state}.",
            hint="You can rerun a post-hook if it failed or did not run and the load is committed.",
        )
    return hook


def _take(run: Run, key: str) -> int:
    free = Run.objects.filter(pk=run.pk, state=State.LOADED_HOOK_FAILED).filter(
        Q(lease_until=None) | Q(lease_until__lt=Now())
    )
    return free.update(lease_owner=key, lease_until=from_now(QUEUED_SECONDS))


def run_hook_again(run_id: UUID | str, slug: str, key: str) -> None:
    """Run the hook that `key` was issued for and record the result. An invalid key is ignored."""
    held = Run.objects.filter(pk=run_id, lease_owner=key, state=State.LOADED_HOOK_FAILED)
    if not held.update(lease_until=from_now(RUNNING_SECONDS)):
        return
    run = Run.objects.select_related("pipeline", "version", "workspace").get(pk=run_id)
    result = _execute(run, _hook_of(run, slug))
    with transaction.atomic():
        report = _with_hook(run, result)
        state = _state_with(report)
        changes = {"report": report.to_json(), "lease_owner": "", "lease_until": None, "state": state}
        if not held.update(**changes):
            return
        _log(run, result)
    if state != State.LOADED_HOOK_FAILED:
        resolve_by("hooks.done", pipeline_id=run.pipeline_id)


def _execute(run: Run, hook: HookReport) -> HookReport:
    """Run the hook; return it with the result, which is an error if the hook cannot start."""
    try:
        job = _job(run)
        target, target_hook = _target_hook(job, hook.id)
        counts = run.nodes.get(node=target.id).counts
        with _interruptible() as interruption:
            report = rerun_hook(job, target, target_hook, counts, interruption)
        if report.state == "succeeded":
            # Stored after the marker in the target, which decides.
            commit = CommitRecord.objects.get(run=run, node=target.id)
            commit.hooks_done = [*commit.hooks_done, target_hook.id]
            commit.save(update_fields=["hooks_done"])
    except FlowError as error:
        return replace(hook, state="failed", message=redact(f"{error.message} [{error.code}] {error.hint}"))
    return redacted_hook(report)


def _target_hook(job: RunJob, slug: str) -> tuple[Target, TargetHook]:
    return next(
        (target, target_hook)
        for target in job.pipeline.targets()
        for target_hook in target.hooks()
        if target_hook.id == slug
    )


def _job(run: Run) -> RunJob:
    document = read_document(run.document)
    return RunJob(
        run_id=str(run.pk),
        tenant=str(run.workspace_id),
        pipeline=document,
        version=run.version_number or 0,
        attempt=run.attempt,
        token=run.token,
        connections=resolve_connections(run.workspace, document),
        files_folder=settings.FILES_ROOT / run.workspace.slug,
        webhooks=resolve_webhooks(run.workspace, document),
        stores=resolve_stores(run.workspace, document),
    )


def _state_with(report: StoredReport) -> State:
    if any(hook.stage == STAGE and hook.state != "succeeded" for hook in report.hooks):
        return State.LOADED_HOOK_FAILED
    return State.SUCCEEDED_WITH_WARNINGS if report.warnings else State.SUCCEEDED


def _log(run: Run, hook: HookReport) -> None:
    line = f"Hook {hook.id} run again: {hook.statement}: {hook.state} after {duration_text(hook.duration_ms / 1000)}."
    RunLog.objects.create(
        workspace_id=run.workspace_id,
        run=run,
        attempt=run.attempt,
        at=Now(),
        node=hook.node,
        level="info" if hook.state == "succeeded" else "error",
        message=redact(line),
    )
