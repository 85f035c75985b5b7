"""Serve static files. Their URLs contain a hash of the file, so that browsers cache them and never use an old one."""

from __future__ import annotations

import gzip
import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import StaticFilesStorage
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile


class FingerprintedStorage(StaticFilesStorage):
    """Serves `/static/app.css?v=<hash>` from the source directories, without a collection step."""

    def url(self, name: str | None) -> str:
        return f"{super().url(name)}?v={fingerprint(name)}" if name else super().url(name)


@cache
def fingerprint(name: str) -> str:
    """Return the hash of the file; raises FileNotFoundError if there is no such file."""
    found = finders.find(name)
    if found is None:
        raise FileNotFoundError(f"There is no static file {name!r}; `npm run build` makes those in static/dist.")
    return hashlib.sha256(Path(found).read_bytes()).hexdigest()[:12]


class StaticFilesMiddleware(WhiteNoiseMiddleware):  # type: ignore[misc]  # whitenoise has no types
    """WhiteNoise that sends whole compressed files, because an ASGI server cannot stream an open file."""

    @staticmethod
    def serve(static_file: StaticFile, request: HttpRequest) -> HttpResponse:
        streamed: Any = WhiteNoiseMiddleware.serve(static_file, request)
        response = HttpResponse(b"".join(streamed), status=streamed.status_code, headers=streamed.headers)
        streamed.close()
        if request.method == "GET" and response.status_code == 200:
            patch_vary_headers(response, ["Accept-Encoding"])
            if "gzip" in request.headers.get("Accept-Encoding", ""):
                response.content = compressed(request.path, static_file.etag, response.content)
                response["Content-Encoding"] = "gzip"
                response["Content-Length"] = str(len(response.content))
        return response


_COMPRESSED: dict[tuple[str, str], bytes] = {}


def compressed(url: str, etag: str, content: bytes) -> bytes:
    """Return the compressed content. Cached per process, because there are few files and they do not change."""
    if (url, etag) not in _COMPRESSED:
        _COMPRESSED[url, etag] = gzip.compress(content, mtime=0)
    return _COMPRESSED[url, etag]
