"""Store uploaded files: on disk while they arrive, then in the workspace's folder in one step, without replacing a
file."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import SkipFile, StopUpload, TemporaryFileUploadHandler
from django.db import transaction
from django.http import HttpRequest

from executors.api import HEAD_BYTES, is_archive, unreadable_kind
from flowapp.accounts.models import User, Workspace
from flowapp.uploads.models import Upload
from ir.errors import FlowError
from ir.formats import READABLE_NAMES

LONGEST_NAME = 200
_REFUSED = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]')


class InvalidUpload(FlowError):
    """The upload was refused."""


class DiskUploadHandler(TemporaryFileUploadHandler):
    """Write every file to disk, also small ones. A file that is too large is discarded while it arrives, and marked on
    the request."""

    received = 0

    def handle_raw_input(self, input_data: Any, META: Any, content_length: int, *rest: Any) -> None:  # noqa: N803
        self.is_too_large = content_length > settings.UPLOAD_BYTES

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        if self.is_too_large:
            self._note()
            raise SkipFile
        super().new_file(*args, **kwargs)

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        self.received += len(raw_data)
        if self.received > settings.UPLOAD_BYTES:
            self._note()
            raise StopUpload(connection_reset=False)
        super().receive_data_chunk(raw_data, start)

    def _note(self) -> None:
        self.request.upload_is_too_large = True  # type: ignore[union-attr]  # Django has set it


def uploaded_file(request: HttpRequest) -> UploadedFile[bytes]:
    """Return the file `file` of the request; raises InvalidUpload."""
    found = request.FILES.get("file")
    if getattr(request, "upload_is_too_large", False):
        raise InvalidUpload(
            "upload.too_large",
            f"The file is larger than {settings.UPLOAD_BYTES:,} bytes.",
            hint="Copy large files to the workspace's folder on the server.",
        )
    if not isinstance(found, UploadedFile):
        raise InvalidUpload("upload.file_missing", "No file was sent.", hint="Send a file in the field `file`.")
    return found


def keep_upload(workspace: Workspace, folder: str, file: UploadedFile[bytes], user: User | None = None) -> Upload:
    """Move an uploaded file into a folder of the workspace and record it. Raises InvalidUpload.

    The file appears complete or not at all, and never replaces another.
    """
    root = (settings.FILES_ROOT / workspace.slug).resolve()
    name = _safe_name(file.name or "")
    _require_readable(name, file)
    target = _safe_folder(root, folder) / name
    target.parent.mkdir(parents=True, exist_ok=True)
    with _beside(file) as (arrived, sha256), transaction.atomic():
        status = arrived.stat()
        upload = Upload.objects.create(
            workspace=workspace,
            path=target.relative_to(root).as_posix(),
            sha256=sha256,
            size=status.st_size,
            mtime_ns=status.st_mtime_ns,
            user=user,
        )
        try:
            os.link(arrived, target)
        except FileExistsError:
            raise InvalidUpload(
                "upload.exists",
                f"There is already a file {name!r} in {folder or 'that folder'!r}.",
                hint="Nothing was overwritten. Rename the new file.",
            ) from None
    return upload


@contextmanager
def _beside(file: UploadedFile[bytes]) -> Iterator[tuple[Path, str]]:
    """Write the bytes to a temporary file on the same disk as the workspaces' folders, where no source looks; returns
    it with the hash."""
    waiting = settings.FILES_ROOT / ".uploads"
    waiting.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=waiting) as arrived:
        digest = hashlib.sha256()
        for chunk in file.chunks():
            arrived.write(chunk)
            digest.update(chunk)
        arrived.flush()
        os.fsync(arrived.fileno())
        os.chmod(arrived.name, 0o640)
        yield Path(arrived.name), digest.hexdigest()


def _safe_name(name: str) -> str:
    """Return the file name without its path: browsers send a name only, programs may send anything."""
    name = unicodedata.normalize("NFC", name).strip()
    if not name or name.startswith(".") or len(name.encode()) > LONGEST_NAME or _REFUSED.search(name):
        raise InvalidUpload(
            "upload.name_refused",
            f"Invalid file name {name[:80]!r}.",
            hint=f'Use up to {LONGEST_NAME} bytes, no leading dot, and no / \\ : * ? " < > | or control characters.',
        )
    return name


def _require_readable(name: str, file: UploadedFile[bytes]) -> None:
    """Refuse a file that no format reads: a run would read its bytes as text and reject every row. Of an archive runs
    read the files in it."""
    if is_archive(name):
        return
    file.seek(0)
    found = unreadable_kind(file.read(HEAD_BYTES))
    file.seek(0)
    if found:
        raise InvalidUpload(
            "upload.format_unreadable",
            f"{name!r} is {found.name}, which Flow cannot read.",
            hint=f"{found.advice} Flow reads {READABLE_NAMES}.",
        )


def _safe_folder(root: Path, folder: str) -> Path:
    """Return the folder if it is below the workspace's own, links resolved."""
    parts = [part for part in folder.strip().split("/") if part not in ("", ".")]
    if any(part.startswith(".") or _REFUSED.search(part) or len(part.encode()) > LONGEST_NAME for part in parts):
        raise InvalidUpload(
            "upload.folder_refused",
            f"Invalid folder {folder[:200]!r}.",
            hint="Use a folder below the workspace's folder, such as in/2026. No part may begin with a dot.",
        )
    found = root.joinpath(*parts).resolve()
    if not found.is_relative_to(root):
        raise InvalidUpload(
            "upload.folder_outside",
            f"{folder[:200]!r} leads outside the workspace's folder.",
            hint="Links must stay inside it.",
        )
    return found
