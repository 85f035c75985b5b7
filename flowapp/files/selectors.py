"""Queries for uploads and files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Concat

from flowapp.accounts.models import Workspace
from flowapp.runs.load_units.headers import Comparison, compare_with_previous
from flowapp.runs.load_units.models import DONE, LoadUnit, UnitRun, UnitState
from flowapp.runs.load_units.selectors import NEWEST_FIRST, rows_read
from flowapp.uploads.heads import find_inside
from flowapp.uploads.models import Upload
from ir.errors import FlowError

MOST_WAITING = 50
MOST_UNITS = 50
TRIES_FIRST = ("-at", "-id")
"""Newest attempt first."""


def list_waiting(workspace: Workspace) -> list[Upload]:
    """Return the newest uploads whose bytes no run has read and whose file still exists. Of an archive runs read the
    files in it."""
    same = Q(sha256=OuterRef("sha256")) | Q(
        name__startswith=Concat(OuterRef("path"), Value("/")), changed_at__gte=OuterRef("at")
    )
    seen = LoadUnit.objects.filter(same, workspace=workspace)
    uploads = Upload.objects.filter(~Exists(seen), workspace=workspace).select_related("user").order_by("-at", "id")
    folder = settings.FILES_ROOT / workspace.slug
    return [upload for upload in uploads[:MOST_WAITING] if (folder / upload.path).exists()]


def first_unit_of(upload: Upload) -> LoadUnit | None:
    """Return the first file with the same bytes that a pipeline of the workspace has found."""
    same = LoadUnit.objects.filter(workspace=upload.workspace, sha256=upload.sha256).exclude(state=UnitState.SKIPPED)
    return same.select_related("pipeline").order_by("created_at", "id").first()


@dataclass(frozen=True, slots=True)
class FileDetail:
    """A file and what pipelines have done with its bytes, or with the files in an uploaded archive. `units` have the
    numbers of their newest runs. `comparison` says how its columns differ from those of the previous file.

    `is_there` means that a file exists at the path, `is_unchanged` that its size and time are the recorded ones."""

    path: str
    sha256: str
    size: int
    state: str
    upload: Upload | None
    units: list[tuple[LoadUnit, dict[str, Any] | None]]
    is_there: bool
    is_unchanged: bool
    comparison: Comparison | None

    @property
    def is_loaded(self) -> bool:
        """Return whether a pipeline has loaded the bytes, even if it was undone since, or is loading them."""
        return any(unit.state in (*DONE, UnitState.PROCESSING) for unit, _ in self.units)

    @property
    def can_be_deleted(self) -> bool:
        return self.upload is not None and self.is_unchanged and not self.is_loaded


def list_tries(workspace: Workspace, sha256: str) -> QuerySet[UnitRun]:
    """Return what runs did with these bytes, under any name."""
    tries = UnitRun.objects.filter(workspace=workspace, unit__workspace=workspace, unit__sha256=sha256)
    return tries.select_related("unit", "run__pipeline").defer("run__report", "run__timeline").order_by(*TRIES_FIRST)


def file_of_unit(unit: LoadUnit) -> FileDetail:
    """Return the file under the name under which a pipeline found it."""
    uploads = Upload.objects.filter(workspace=unit.workspace, sha256=unit.sha256, path=unit.name)
    upload = uploads.select_related("user").order_by("-at", "id").first()
    return _detail(unit.workspace, unit.name, unit, unit.state, upload, unit)


def file_of_upload(upload: Upload) -> FileDetail:
    seen = LoadUnit.objects.filter(workspace=upload.workspace, sha256=upload.sha256, name=upload.path)
    unit = seen.order_by(*NEWEST_FIRST).first()
    state = unit.state if unit else UnitState.PENDING
    return _detail(upload.workspace, upload.path, upload, state, upload, unit)


def get_upload(workspace: Workspace, upload_id: UUID) -> Upload:
    """Return an upload of this workspace. Raises FlowError."""
    try:
        return Upload.objects.select_related("user", "workspace").get(workspace=workspace, pk=upload_id)
    except Upload.DoesNotExist:
        raise FlowError(
            "file.unknown", f"Unknown file {str(upload_id)!r} here.", hint="The Files page lists all files."
        ) from None


def _detail(
    workspace: Workspace, path: str, noted: LoadUnit | Upload, state: str, upload: Upload | None, unit: LoadUnit | None
) -> FileDetail:
    same = Q(sha256=noted.sha256)
    if isinstance(noted, Upload):
        same |= Q(name__startswith=f"{path}/", changed_at__gte=noted.at)
    found = LoadUnit.objects.filter(same, workspace=workspace).select_related("pipeline", "run")
    units = list(found.order_by(*NEWEST_FIRST)[:MOST_UNITS])
    read = rows_read(units)
    is_there, is_unchanged = _look(workspace, path, noted)
    numbered = [(unit, read.get(unit.run_id) if unit.run_id else None) for unit in units]
    comparison = compare_with_previous(unit) if unit else None
    return FileDetail(path, noted.sha256, noted.size, state, upload, numbered, is_there, is_unchanged, comparison)


def _look(workspace: Workspace, path: str, noted: LoadUnit | Upload) -> tuple[bool, bool]:
    """Return whether a file exists at the path, and whether its size and time are the recorded ones."""
    try:
        stream, file = find_inside(workspace, path)
    except FlowError:
        return False, False
    stream.close()
    return True, (file.size, file.mtime_ns) == (noted.size, noted.mtime_ns)
