"""Random keys (API tokens, login links) and the hashes that Flow stores instead of them."""

from __future__ import annotations

import hashlib
import secrets


def make_key() -> str:
    """Return a key of 256 random bits that is safe in a URL."""
    return secrets.token_urlsafe(32)


def digest_of(key: str) -> str:
    """Return the hash that Flow stores and looks up. A fast hash is enough, because 256 random bits cannot be
    guessed."""
    return hashlib.sha256(key.encode()).hexdigest()
