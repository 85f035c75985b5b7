"""The page that shows the folders and files of a store, and the first bytes of a file."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from executors.api import list_store, read_head
from executors.model import StoreConnection
from flowapp.accounts.access import page
from flowapp.connections.selectors import get_connection
from flowapp.connections.stores import resolve_store
from flowapp.web.htmx import HtmxRequest, render_page
from ir.errors import FlowError
from ir.manifests.stores import STORE_KINDS

MOST_SHOWN = 200
HEAD_BYTES = 4000
LONGEST_PATH = 1024


@dataclass(frozen=True, slots=True)
class Row:
    """A file or folder of the page. `size` is in bytes. `path` is empty if no link can lead there."""

    name: str
    path: str
    is_folder: bool
    size: int
    modified: datetime | None


@never_cache
@require_GET
@page(role="editor")
def files(request: HtmxRequest, name: str) -> HttpResponse:
    """Show a page of a folder. A store that does not respond is a result, not an error of the page."""
    connection = get_connection(request.workspace, name)
    if connection.kind not in STORE_KINDS or STORE_KINDS[connection.kind].holds != "files":
        return redirect("connections:detail", request.workspace.slug, name)
    given = {key: request.GET.get(key, "")[:LONGEST_PATH].replace("\0", "") for key in ("folder", "after", "file")}
    folder = f"{given['folder'].strip('/')}/".lstrip("/")
    context: dict[str, Any] = {"connection": connection, "folder": folder, "parents": _parents(folder)}
    try:
        context |= _found(resolve_store(connection), folder, given["after"], given["file"])
    except FlowError as error:
        context["error"] = error
    return render_page(request, "connections/files.html", context)


def _found(store: StoreConnection, folder: str, after: str, file: str) -> dict[str, Any]:
    shown = list_store(store, folder, after, MOST_SHOWN)
    rows = [
        Row(
            _readable(entry.name),
            entry.path if entry.path == _readable(entry.path) else "",
            entry.is_folder,
            entry.size,
            datetime.fromtimestamp(entry.mtime_ns / 1e9, UTC) if entry.mtime_ns else None,
        )
        for entry in shown.entries
    ]
    head = read_head(store, file, HEAD_BYTES) if file else None
    text = head[1].decode(errors="replace").replace("\0", "\ufffd") if head else ""
    return {
        "rows": rows,
        "after": _readable(shown.after),
        "file": head[0] if head else None,
        "head": text,
        "asked": file,
    }


def _readable(path: str) -> str:
    """Return a path without bytes that are not UTF-8, which neither a page nor a link can contain."""
    return path.encode(errors="replace").decode()


def _parents(folder: str) -> list[tuple[str, str]]:
    """Return the names and paths of the folder and of those above it."""
    parts = folder.strip("/").split("/") if folder else []
    return [(part, "/".join(parts[: i + 1])) for i, part in enumerate(parts)]
