"""Save pipelines and set their switches. A version never changes; restoring one makes a new version with its text."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from flowapp.accounts.models import User, Workspace
from flowapp.connections.allowing import allowances_of
from flowapp.connections.services import resolve_connections, resolve_webhooks
from flowapp.hook import Hook
from flowapp.modules.services import require_modules
from flowapp.pipelines.documents import parse, read_document, syntax_of
from flowapp.pipelines.hook_roles import require_hook_role
from flowapp.pipelines.models import Favourite, Pipeline, PipelineVersion
from flowapp.pipelines.selectors import get_version
from flowapp.pipelines.summaries import quarantines_of, summary_of
from ir.canonical import document_hash
from ir.documents import Syntax
from ir.errors import FlowError
from ir.parse import Parsed
from ir.pipeline import Pipeline as Document
from ir.schedules import Schedule, next_fire

TRIES = 10
IDENT = re.compile(r"[a-z][a-z0-9_-]{0,62}")

before_archiving: Hook[[Pipeline], None] = Hook()
"""Called before a pipeline is archived. Raises FlowError to prevent that."""


class VersionConflict(FlowError):
    """A newer version than the one on which an edit is based has been saved. `current` is its number."""

    def __init__(self, slug: str, expected: int, current: int) -> None:
        super().__init__(
            "version.conflict",
            f"Pipeline {slug!r} is at version {current}, but your edit is based on version {expected}.",
            hint="Review the newer version, then save your edit again.",
        )
        self.expected, self.current = expected, current


def save_version(
    workspace: Workspace,
    document_text: str,
    author: User | None = None,
    message: str = "",
    expected_version: int | None = None,
    syntax: Syntax | None = None,
    role: str = "editor",
) -> PipelineVersion:
    """Save the text as the newest version of the pipeline that it names; an unchanged text makes no version.

    `expected_version` is the number of the version on which the edit is based, 0 for a new pipeline. `role` is the role
    of the author. Raises InvalidPipeline, UnknownConnection, VersionConflict, FlowError `hook.needs_admin`, and the
    errors of `require_modules`."""
    allowances = allowances_of(workspace)
    parsed = parse(document_text, syntax or syntax_of(document_text), allowances=allowances)
    document = parsed.pipeline
    resolve_connections(workspace, document)
    resolve_webhooks(workspace, document)
    require_modules(workspace, document)
    for _ in range(TRIES):
        pipeline = _get_or_create(workspace, document.id)
        current = pipeline.latest_number
        if expected_version is not None and expected_version != current:
            raise VersionConflict(document.id, expected_version, current)
        require_hook_role(role, document, _newest(pipeline))
        saved = _save_after(pipeline, parsed, document_text, author, message)
        if saved is not None:
            return saved
    raise VersionConflict(document.id, current, current + 1)


def _get_or_create(workspace: Workspace, slug: str) -> Pipeline:
    pipeline, _ = Pipeline.objects.get_or_create(
        workspace=workspace, slug=slug, defaults={"fence_counter": _first_token()}
    )
    return pipeline


def _first_token() -> int:
    """Return a fence token above those that a deleted pipeline of the same id may have left in targets."""
    return time.time_ns() // 1000


def _save_after(
    pipeline: Pipeline, parsed: Parsed, text: str, author: User | None, message: str
) -> PipelineVersion | None:
    """Save the version after the newest one of `pipeline`; return None if a concurrent save was faster."""
    document, newest = parsed.pipeline, _newest(pipeline)
    if newest is not None and newest.document == text:
        return newest
    number = pipeline.latest_number + 1
    with transaction.atomic():
        # Lock out switches, because the next start of the schedule depends on them.
        unchanged = Pipeline.objects.select_for_update().filter(pk=pipeline.pk, latest_number=pipeline.latest_number)
        locked = unchanged.first()
        if locked is None:
            return None
        changes = {"latest_number": number, **summary_of(document), **_schedule(locked, document)}
        Pipeline.objects.filter(pk=pipeline.pk).update(**changes)
        pipeline.refresh_from_db()
        return PipelineVersion.objects.create(
            workspace_id=pipeline.workspace_id,
            pipeline=pipeline,
            number=number,
            author=author,
            message=message,
            document=text,
            sha256=document_hash(parsed.document),
            quarantines=quarantines_of(document),
            max_attempts=document.error_handling.retry.max_attempts,
        )


def _newest(pipeline: Pipeline) -> PipelineVersion | None:
    return PipelineVersion.objects.filter(pipeline=pipeline, number=pipeline.latest_number).first()


def _schedule(pipeline: Pipeline, document: Document) -> dict[str, object]:
    """Return the changes to a pipeline's schedule. An unchanged schedule retains its next start."""
    schedule = document.schedule
    stored = None if schedule is None else schedule.to_document()
    if stored == pipeline.schedule:
        return {}
    return {"schedule": stored, "next_fire_at": _next_fire(pipeline, schedule)}


def _next_fire(pipeline: Pipeline, schedule: Schedule | None) -> datetime | None:
    if schedule is None or pipeline.paused or not pipeline.enabled or pipeline.archived_at:
        return None
    return next_fire(schedule, timezone.now(), pipeline.schedule_key)


def restore_version(
    pipeline: Pipeline, number: int, author: User | None = None, *, role: str = "editor"
) -> PipelineVersion:
    """Make an old version's text the newest version. Raises FlowError."""
    old = get_version(pipeline, number)
    pipeline.refresh_from_db()
    return save_version(
        pipeline.workspace,
        old.document,
        author,
        f"Version {number} restored",
        expected_version=pipeline.latest_number,
        role=role,
    )


def set_paused(pipeline: Pipeline, paused: bool) -> None:
    """Pause or resume the schedule. Times missed in a pause are not caught up. Manual runs still work."""
    _switch(pipeline, paused=paused)


def set_enabled(pipeline: Pipeline, enabled: bool) -> None:
    """Enable or disable a pipeline."""
    _switch(pipeline, enabled=enabled)


def set_archived(pipeline: Pipeline, archived: bool) -> None:
    """Archive a pipeline, which excludes it from lists and schedules, or restore it. No data is lost. Raises FlowError
    while it has unfinished runs."""
    if archived == (pipeline.archived_at is not None):
        return
    with transaction.atomic():
        if archived:
            lock_pipeline(pipeline)
            before_archiving(pipeline)
        _switch(pipeline, archived_at=timezone.now() if archived else None)


def lock_pipeline(pipeline: Pipeline) -> None:
    """Lock the pipeline until the caller's transaction ends, so that no run of it can be queued."""
    Pipeline.objects.select_for_update().filter(pk=pipeline.pk).first()


SWITCHES: dict[str, Callable[[Pipeline, bool], None]] = {
    "enabled": set_enabled,
    "paused": set_paused,
    "archived": set_archived,
}
"""The functions that set a pipeline's switches, by name."""


def set_favourite(pipeline: Pipeline, user: User, is_favourite: bool) -> None:
    """Add the pipeline to the user's favourites or remove it."""
    if is_favourite:
        Favourite.objects.get_or_create(pipeline=pipeline, user=user)
    else:
        Favourite.objects.filter(pipeline=pipeline, user=user).delete()


def _switch(pipeline: Pipeline, **changes: bool | datetime | None) -> None:
    with transaction.atomic():
        Pipeline.objects.filter(pk=pipeline.pk).update(**changes)
        pipeline.refresh_from_db()
        newest = PipelineVersion.objects.filter(pipeline=pipeline, number=pipeline.latest_number).first()
        schedule = read_document(newest.document).schedule if newest else None
        Pipeline.objects.filter(pk=pipeline.pk).update(next_fire_at=_next_fire(pipeline, schedule))
    pipeline.refresh_from_db()


def create_pipeline(workspace: Workspace, slug: str, name: str = "") -> Pipeline:
    """Create a pipeline without a version, for a first draft. Raises FlowError if the id is invalid or taken."""
    if not IDENT.fullmatch(slug):
        raise FlowError(
            "pipeline.id_malformed",
            f"{slug!r} is not a valid id for a pipeline.",
            hint="An id begins with a lower-case letter and has up to 63 lower-case letters, digits, - and _.",
        )
    pipeline, is_new = Pipeline.objects.get_or_create(
        workspace=workspace, slug=slug, defaults={"name": name, "fence_counter": _first_token()}
    )
    if not is_new:
        raise FlowError("pipeline.exists", f"There is already a pipeline {slug!r}.", hint="Choose another id.")
    return pipeline
