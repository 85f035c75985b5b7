"""The two texts of a document: the canonical one for hashing, and the readable one."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import rfc8785


def canonical(document: dict[str, Any]) -> bytes:
    """Return the RFC 8785 form: equal documents give equal bytes, whatever the order of their keys or their spacing."""
    return rfc8785.dumps(document)


def document_hash(document: dict[str, Any]) -> str:
    """Return the SHA-256 of the canonical form, in hex."""
    return hashlib.sha256(canonical(document)).hexdigest()


def serialize(document: dict[str, Any]) -> str:
    """Return readable JSON with keys in their given order and a final line break."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
