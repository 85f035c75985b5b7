"""Make new documents from the newest version of a pipeline: a copy under another id, or a version with one more tag."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from flowapp.accounts.models import User
from flowapp.pipelines.drafts import json_text
from flowapp.pipelines.edits import put
from flowapp.pipelines.models import Pipeline, PipelineVersion
from flowapp.pipelines.selectors import get_version
from flowapp.pipelines.services import create_pipeline, save_version, set_paused
from ir.errors import FlowError
from ir.json_edits import apply_patch, read_spans

LONGEST_ID, LONGEST_TAG, MOST_TRIES = 63, 50, 100


def duplicate_pipeline(pipeline: Pipeline, author: User | None = None, *, role: str = "editor") -> Pipeline:
    """Copy the newest version under a free id. The schedule of the copy is paused, because it loads the same tables.
    Raises FlowError `pipeline.no_version`."""
    newest = get_version(pipeline)
    slug = _free_id(pipeline)
    changes: list[tuple[list[str | int], Any]] = [(["id"], slug)]
    if pipeline.name:
        changes.append((["metadata", "name"], f"{pipeline.name} (copy)"))
    text, message = _changed(newest, changes), f"Copy of {pipeline.slug}, version {newest.number}"
    with transaction.atomic():
        create_pipeline(pipeline.workspace, slug)
        copy = save_version(pipeline.workspace, text, author, message, expected_version=0, role=role).pipeline
        set_paused(copy, True)
    return copy


def _free_id(pipeline: Pipeline) -> str:
    for number in range(1, MOST_TRIES):
        suffix = "-copy" if number == 1 else f"-copy-{number}"
        slug = pipeline.slug[: LONGEST_ID - len(suffix)] + suffix
        if not Pipeline.objects.filter(workspace_id=pipeline.workspace_id, slug=slug).exists():
            return slug
    raise FlowError("pipeline.exists", f"{pipeline.slug!r} has too many copies.", hint="Delete or rename some of them.")


def add_tag(pipeline: Pipeline, tag: str, author: User | None = None, *, role: str = "editor") -> PipelineVersion:
    """Save a version with one more tag, unless the pipeline has the tag. Raises FlowError."""
    tag = require_tag(tag)
    newest = get_version(pipeline)
    tags = list((read_spans(json_text(newest.document)).value.get("metadata") or {}).get("tags") or [])
    if tag in tags:
        return newest
    text = _changed(newest, [(["metadata", "tags"], [*tags, tag])])
    return save_version(pipeline.workspace, text, author, f"Tag {tag} added", newest.number, role=role)


def require_tag(tag: str) -> str:
    """Return the tag with normalized blanks. Raises FlowError."""
    tag = " ".join(tag.split())
    if not 1 <= len(tag) <= LONGEST_TAG:
        raise FlowError("tag.invalid", f"A tag has 1 to {LONGEST_TAG} characters.", hint="Enter a shorter tag.")
    return tag


def _changed(version: PipelineVersion, changes: list[tuple[list[str | int], Any]]) -> str:
    """Return the version's text with these members set."""
    text = json_text(version.document)
    for steps, value in changes:
        text = apply_patch(text, put(read_spans(text).value, steps, value))
    return text
