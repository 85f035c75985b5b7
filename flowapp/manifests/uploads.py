"""Uploaded files of a project, and the project folder of the server."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile

from flowapp.accounts.models import Workspace
from flowapp.manifests.folders import read_folder
from ir.errors import FlowError
from ir.limits import MAX_BYTES
from ir.manifests.project import FOLDER, PROJECT_FILE, SOURCES
from ir.transform_code.compiled import LANGUAGES

MOST_FILES, MOST_BYTES = 500, 20 * MAX_BYTES


def read_uploads(files: Sequence[UploadedFile[bytes]]) -> dict[str, bytes]:
    """Return uploaded files by their names in the project, because browsers send names without folders. Raises
    FlowError."""
    if len(files) > MOST_FILES or sum(file.size or 0 for file in files) > MOST_BYTES:
        raise FlowError(
            "project.too_large",
            f"A project can be uploaded with up to {MOST_FILES} files and {MOST_BYTES:,} bytes.",
            hint="Apply it with the command line, or let FLOW_PROJECT name its folder on the server.",
        )
    names = [_project_name(file.name or "") for file in files]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise FlowError(
            "project.file_repeated",
            f"Several uploaded files have the name {', '.join(repeated)}.",
            hint="Upload each file of the project once.",
        )
    return {name: file.read(MAX_BYTES + 1) for name, file in zip(names, files, strict=True)}


def _project_name(name: str) -> str:
    if name == PROJECT_FILE:
        return name
    return f"{SOURCES if Path(name).suffix in LANGUAGES else FOLDER}/{name}"


def server_folder(workspace: Workspace) -> Path | None:
    """Return the folder in FLOW_PROJECT if it belongs to the workspace, else None."""
    return Path(settings.PROJECT) if settings.PROJECT and workspace.slug == settings.FLOW_WORKSPACE else None


def read_server_folder(workspace: Workspace) -> dict[str, bytes]:
    """Return the files of the folder in FLOW_PROJECT. Raises FlowError."""
    folder = server_folder(workspace)
    if folder is None:
        raise FlowError(
            "file.unreadable",
            "The server has no folder with a project for this workspace.",
            hint="Set FLOW_PROJECT, or upload the files.",
        )
    return read_folder(folder)


def server_environment() -> dict[str, str]:
    """Return the variables that projects in the browser may use as secrets."""
    return {name: os.environ[name] for name in settings.PROJECT_ENV if name in os.environ}
