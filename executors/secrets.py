"""Encrypts connections on their way from the driver to tasks, and texts with row values.

The keys come from FLOW_ENCRYPTION_KEYS (Fernet keys, comma-separated; the first one encrypts) of each process's own
environment, so that no plan, setting or argument list contains a secret.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from executors.errors import Terminal
from executors.model import Connection, StoreConnection

KEYS = "FLOW_ENCRYPTION_KEYS"


def encrypt(connection: Connection) -> str:
    """Return the connection as encrypted text. Raises Terminal `secrets.key_missing` or `secrets.key_malformed`."""
    return _fernet().encrypt(json.dumps(asdict(connection)).encode()).decode()


def encrypt_store(connection: StoreConnection) -> str:
    """Return a connection to a store of files as encrypted text. Raises the errors of `encrypt`."""
    return _fernet().encrypt(json.dumps(asdict(connection)).encode()).decode()


def encrypt_text(text: str) -> str:
    """Return a text that may contain row values, encrypted. Raises the errors of `encrypt`."""
    return _fernet().encrypt(text.encode()).decode()


def decrypt(encrypted: str) -> Connection:
    """Return the decrypted connection. Raises Terminal `secrets.key_missing`, `secrets.key_malformed` or
    `secrets.key_wrong`."""
    fields = _decrypted(encrypted)
    return Connection(**{**fields, "allowed_functions": tuple(fields["allowed_functions"])})


def decrypt_store(encrypted: str) -> StoreConnection:
    """Return the decrypted connection to a store. Raises as `decrypt`."""
    return StoreConnection(**_decrypted(encrypted))


def _decrypted(encrypted: str) -> dict[str, Any]:
    try:
        fields: dict[str, Any] = json.loads(_fernet().decrypt(encrypted.encode()))
        return fields
    except InvalidToken:
        raise Terminal(
            "secrets.key_wrong",
            f"This process's {KEYS} cannot decrypt a connection that the driver encrypted.",
            hint=f"Give every Spark executor the same {KEYS} as the workers.",
        ) from None


def _fernet() -> MultiFernet:
    keys = [key.strip() for key in os.environ.get(KEYS, "").split(",") if key.strip()]
    if not keys:
        raise Terminal(
            "secrets.key_missing",
            f"{KEYS} is not set in this process.",
            hint=f"Set {KEYS} for workers and Spark executors alike; `flow up` makes one when nothing is configured.",
        )
    try:
        return MultiFernet([Fernet(key) for key in keys])
    except ValueError:
        raise Terminal(
            "secrets.key_malformed",
            f"{KEYS} holds something that is not a Fernet key (32 bytes in URL-safe base64).",
            hint="Make one with cryptography: Fernet.generate_key().decode()",
        ) from None
