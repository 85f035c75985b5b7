"""Uploads beside what pipelines have seen of them."""

from __future__ import annotations

from django.conf import settings
from django.db.models import Exists, OuterRef

from flowapp.accounts.models import Workspace
from flowapp.runs.load_units.models import LoadUnit, UnitState
from flowapp.uploads.models import Upload

MOST_WAITING = 50


def list_waiting(workspace: Workspace) -> list[Upload]:
    """The newest uploads whose bytes no run has seen and that still lie where they were put."""
    seen = LoadUnit.objects.filter(workspace=workspace, sha256=OuterRef("sha256"))
    uploads = Upload.objects.filter(~Exists(seen), workspace=workspace).select_related("user").order_by("-at", "id")
    folder = settings.FILES_ROOT / workspace.slug
    return [upload for upload in uploads[:MOST_WAITING] if (folder / upload.path).exists()]


def first_unit_of(upload: Upload) -> LoadUnit | None:
    """The file with the same bytes that a pipeline of the workspace has seen first."""
    same = LoadUnit.objects.filter(workspace=upload.workspace, sha256=upload.sha256).exclude(state=UnitState.SKIPPED)
    return same.select_related("pipeline").order_by("created_at", "id").first()
