"""Addresses of static files. Each carries a hash of the file, so that browsers may keep it and never see an old one."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import StaticFilesStorage


class FingerprintedStorage(StaticFilesStorage):
    """`/static/app.css?v=<hash>`, straight from where the files lie: nothing has to be collected first."""

    def url(self, name: str | None) -> str:
        return f"{super().url(name)}?v={fingerprint(name)}" if name else super().url(name)


@cache
def fingerprint(name: str) -> str:
    """Of the file's bytes; raises FileNotFoundError for one that is not there, as a misspelt name is not."""
    found = finders.find(name)
    if found is None:
        raise FileNotFoundError(f"There is no static file {name!r}; `npm run build` makes those in static/dist.")
    return hashlib.sha256(Path(found).read_bytes()).hexdigest()[:12]
