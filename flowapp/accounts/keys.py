"""Random keys that people carry (tokens, login links) and the hashes that we keep instead of them."""

from __future__ import annotations

import hashlib
import secrets


def make_key() -> str:
    """256 random bits, fit for a URL."""
    return secrets.token_urlsafe(32)


def digest_of(key: str) -> str:
    """What is stored and looked up. A fast hash is enough: nobody guesses 256 bits."""
    return hashlib.sha256(key.encode()).hexdigest()
