"""Celery tasks."""

from __future__ import annotations

from uuid import UUID

from celery import shared_task

from flowapp.celery import HOOK_TASK, RUN_TASK, STREAM_TASK


@shared_task(name=RUN_TASK)
def run(run_id: str) -> None:
    """Claim and execute a run. If the claim fails, return: another worker has the run, or it must wait."""
    from flowapp.runs.broker import hold_run, is_leaving
    from flowapp.runs.dispatch import execute_claimed
    from flowapp.runs.leases import claim_run
    from flowapp.runs.worker import leave_if_lost, owner

    if is_leaving():
        hold_run(UUID(run_id))
    elif claim := claim_run(run_id, owner()):
        # Before the run is requeued: otherwise this worker would claim it again and lose it again.
        execute_claimed(claim, before_end=leave_if_lost)


@shared_task(name=STREAM_TASK)
def stream(run_id: str) -> None:
    """Claim and execute a stream, on a worker for streams."""
    run(run_id)


@shared_task(name=HOOK_TASK)
def hook(run_id: str, slug: str, key: str) -> None:
    """Rerun one hook of a load. An invalid key is ignored."""
    from flowapp.runs.hooks import run_hook_again

    run_hook_again(run_id, slug, key)
