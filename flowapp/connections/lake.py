"""Folders for Delta tables. Each workspace has a folder of its own below FLOW_LAKE_FOLDER, which no path leaves."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from django.conf import settings

from executors.model import StoreConnection
from flowapp.connections.fields import InvalidConnection
from flowapp.connections.models import Connection


def folder_of(connection: Connection) -> Path:
    """Return the absolute folder of a connection of kind `folder`. Raises InvalidConnection if a link leads out of the
    workspace's folder."""
    path = str(connection.settings["fields"]["path"])
    own: Path = settings.LAKE_ROOT / connection.workspace.slug
    try:
        root, folder = own.resolve(), (own / path).resolve()
        is_inside = folder.is_relative_to(root)
    except (OSError, RuntimeError):  # links in a circle
        is_inside = False
    if not is_inside:
        raise InvalidConnection(
            "connection.folder_outside",
            f"The folder {path!r} of connection {connection.name!r} leads out of the workspace's folder.",
            hint="Remove the link, or add a connection with another folder.",
        )
    return folder


def probe_folder(connection: StoreConnection) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Look whether tables can be created in the folder of a resolved connection, and create nothing. Raises
    InvalidConnection if not."""
    folder = Path(connection.settings["path"])
    nearest = next(path for path in (folder, *folder.parents) if os.path.exists(path))
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        is_there = nearest == folder
        raise InvalidConnection(
            "connection.folder_not_writable",
            f"Flow cannot {'write to' if is_there else 'create'} the folder of connection {connection.name!r}.",
            hint="Let the user of Flow's processes write to FLOW_LAKE_FOLDER, or use another folder.",
        )
    return {"folderExists": nearest == folder, "canWrite": True}, ()
