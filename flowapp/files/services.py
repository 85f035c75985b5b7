"""Delete uploads, and send files to browsers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import BinaryIO
from urllib.parse import quote

from asgiref.sync import sync_to_async
from django.http import StreamingHttpResponse

from flowapp.accounts.models import Workspace
from flowapp.files.selectors import file_of_upload
from flowapp.uploads.heads import open_inside, path_inside
from flowapp.uploads.models import Upload
from ir.errors import FlowError

CHUNK_BYTES = 1 << 20


def delete_upload(upload: Upload) -> None:
    """Delete the file of an upload that no pipeline has loaded, and its record. Raises FlowError."""
    if not file_of_upload(upload).can_be_deleted:
        raise FlowError(
            "upload.not_deletable",
            f"{upload.path} cannot be deleted: a pipeline has loaded it, or it is no longer as it was uploaded.",
            hint="Delete such files in the workspace's folder on the server.",
        )
    path_inside(upload.workspace, upload.path).unlink(missing_ok=True)
    upload.delete()


def send_file(workspace: Workspace, path: str) -> StreamingHttpResponse:
    """Return a file as a download. Raises FlowError."""
    stream = open_inside(workspace, path)
    response = StreamingHttpResponse(_chunks(stream), content_type="application/octet-stream")
    name = quote(path.rpartition("/")[2], safe="")
    response.headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{name}"
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Cache-Control"] = "no-store"
    return response


async def _chunks(stream: BinaryIO) -> AsyncIterator[bytes]:
    """Read in a thread: under ASGI, Django would read a plain iterator to its end before it sends a byte."""
    with stream:
        while data := await sync_to_async(stream.read, thread_sensitive=False)(CHUNK_BYTES):
            yield data
