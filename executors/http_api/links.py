"""Reads Link headers (RFC 8288)."""

from __future__ import annotations

import re

_TARGET = re.compile(r"(?:^|,)\s*<([^<>]*)>")
_PARAMETER = re.compile(r"""\s*;\s*([^\s=;,]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*)))?""")


def next_link(header: str) -> str | None:
    """Return the target of the first link that names the next page, of the Link headers joined by commas."""
    at = 0
    while link := _TARGET.search(header, at):
        relations, at = _relations(header, link.end())
        if "next" in relations:
            return link[1].strip()
    return None


def _relations(header: str, at: int) -> tuple[list[str], int]:
    """Return the relation types of a link, and where its parameters end. Of several `rel`, the first one counts."""
    found: str | None = None
    while parameter := _PARAMETER.match(header, at):
        at = parameter.end()
        if parameter[1].lower() == "rel" and found is None:
            found = parameter[2] or parameter[3] or ""
    return (found or "").lower().split(), at
