"""Connections on their way to tasks, sealed by the driver and opened where the executor runs; texts with row values.

The keys come from FLOW_ENCRYPTION_KEYS (Fernet keys, comma-separated, the first one seals) of each process's own
environment, so that no secret stands in a plan, a setting or an argument list.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from executors.errors import Terminal
from executors.model import Connection

KEYS = "FLOW_ENCRYPTION_KEYS"


def encrypt(connection: Connection) -> str:
    """The connection as encrypted text. Raises Terminal `secrets.key_missing` or `secrets.key_malformed`."""
    return _fernet().encrypt(json.dumps(asdict(connection)).encode()).decode()


def encrypt_text(text: str) -> str:
    """A text that may hold row values, encrypted; raises as `encrypt` does."""
    return _fernet().encrypt(text.encode()).decode()


def decrypt(encrypted: str) -> Connection:
    """The connection again. Raises Terminal `secrets.key_missing`, `secrets.key_malformed` or `secrets.key_wrong`."""
    try:
        fields = json.loads(_fernet().decrypt(encrypted.encode()))
        return Connection(**{**fields, "allowed_functions": tuple(fields["allowed_functions"])})
    except InvalidToken:
        raise Terminal(
            "secrets.key_wrong",
            f"This process's {KEYS} cannot open a connection sealed by the driver.",
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
