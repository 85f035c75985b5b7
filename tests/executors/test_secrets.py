"""Encrypts connections for tasks."""

from __future__ import annotations

import pytest
from cryptography.fernet import Fernet

from executors.errors import Terminal
from executors.model import Connection
from executors.secrets import KEYS, decrypt, encrypt

CONNECTION = Connection("warehouse", "db.example", 5432, "flow", "loader", "P@ss:w/rd%?", "require")


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    key = Fernet.generate_key().decode()
    monkeypatch.setenv(KEYS, key)
    return key


def test_a_sealed_connection_opens_to_itself(key: str) -> None:
    assert decrypt(encrypt(CONNECTION)) == CONNECTION


def test_a_sealed_connection_shows_nothing(key: str) -> None:
    encrypted = encrypt(CONNECTION)
    assert not any(part in encrypted for part in ("P@ss", "loader", "db.example"))


def test_what_an_older_key_sealed_still_opens(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    encrypted = encrypt(CONNECTION)
    monkeypatch.setenv(KEYS, f"{Fernet.generate_key().decode()}, {key}")
    assert decrypt(encrypted) == CONNECTION


OTHER_KEY = "bm90IHRoZSBrZXkgdGhhdCBzZWFsZWQgYW55dGhpbmc="


@pytest.mark.parametrize(
    ("keys", "code"),
    [("", "secrets.key_missing"), ("abc", "secrets.key_malformed"), (OTHER_KEY, "secrets.key_wrong")],
)
def test_keys_that_do_not_serve_are_distinguished(
    key: str, monkeypatch: pytest.MonkeyPatch, keys: str, code: str
) -> None:
    encrypted = encrypt(CONNECTION)
    monkeypatch.setenv(KEYS, keys)
    with pytest.raises(Terminal) as caught:
        decrypt(encrypted)
    assert caught.value.code == code
    assert KEYS in caught.value.message
    assert caught.value.hint
