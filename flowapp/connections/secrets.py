"""Encryption of stored secrets: the first of FLOW_ENCRYPTION_KEYS encrypts, all of them decrypt."""

from __future__ import annotations

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

from ir.errors import FlowError


class SecretUnreadable(FlowError):
    """A stored secret or the configured keys are unusable."""


def encrypt(secret: str) -> str:
    return _fernet().encrypt(secret.encode()).decode()


def decrypt(encrypted: str, owner: str) -> str:
    """Decrypt a secret. SecretUnreadable names its `owner`."""
    try:
        return _fernet().decrypt(encrypted.encode()).decode()
    except InvalidToken:
        raise _unreadable(owner) from None


def rotate(encrypted: str, owner: str) -> str:
    """Encrypt the same secret with the first key. Raises SecretUnreadable."""
    try:
        return _fernet().rotate(encrypted.encode()).decode()
    except InvalidToken:
        raise _unreadable(owner) from None


def _unreadable(owner: str) -> SecretUnreadable:
    return SecretUnreadable(
        "secrets.unreadable",
        f"The stored secret of {owner} cannot be decrypted with the current keys.",
        hint="Put the key it was stored under back into FLOW_ENCRYPTION_KEYS (any place but the first will do), "
        "or store the secret again.",
    )


def _fernet() -> MultiFernet:
    try:
        return MultiFernet([Fernet(key) for key in settings.ENCRYPTION_KEYS])
    except ValueError:
        raise SecretUnreadable(
            "secrets.key_malformed",
            "FLOW_ENCRYPTION_KEYS contains an invalid key.",
            hint="A key is 32 random bytes in URL-safe base64. Make one with: python -c "
            '"from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())"',
        ) from None
