"""Queries for uploads, and for folders that users may mean."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from django.conf import settings

from executors.model import SourceFile
from flowapp.accounts.models import Workspace
from flowapp.batches import in_batches
from flowapp.pipelines.models import Pipeline
from flowapp.uploads.models import Upload

MOST_SUGGESTIONS = 200


def uploaded_whole(workspace: Workspace, files: Sequence[SourceFile]) -> set[str]:
    """Return the paths of the uploaded files that have not changed since. An upload appears complete, so runs need not
    wait for it."""
    root = (settings.FILES_ROOT / workspace.slug).resolve()
    listed = {(Path(f.path).relative_to(root).as_posix(), f.size, f.mtime_ns): f.path for f in files}
    uploads = Upload.objects.filter(workspace=workspace).values_list("path", "size", "mtime_ns")
    batches = in_batches(mtime_ns for _, _, mtime_ns in listed)
    return {listed[sent] for batch in batches for sent in uploads.filter(mtime_ns__in=batch) if sent in listed}


def list_read_folders(workspace: Workspace) -> list[str]:
    """List folders that pipelines of this workspace read, as suggestions. The list may be incomplete."""
    sources = Pipeline.objects.filter(workspace=workspace).exclude(source="").order_by("source")
    source_texts = sources.values_list("source", flat=True).distinct()[:MOST_SUGGESTIONS]
    return sorted({folder.strip("/") for text in source_texts for folder in text.split(", ")} - {""})


def list_folders(workspace: Workspace) -> list[str]:
    """List folders that pipelines read, and those of the newest uploads, as suggestions."""
    uploads = Upload.objects.filter(workspace=workspace).order_by("-at", "id")
    paths = uploads.values_list("path", flat=True)[:MOST_SUGGESTIONS]
    sent = {path.rpartition("/")[0] for path in paths}
    return sorted({*list_read_folders(workspace), *sent} - {""})
