"""Read the environment: addresses, secrets and flags. Only the settings and `flags` read `os.environ`."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Callable
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured

from flowapp import flags
from ir.errors import FlowError


class BadSetting(ImproperlyConfigured):
    """An unusable setting of the environment. `hint` says which values are valid."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(f"{message} {hint}")
        self.message, self.hint = message, hint


MOST_HOURS = 8760.0
MOST_COUNT = 1000


def read_flag(name: str) -> bool:
    try:
        return flags.read_flag(name)
    except FlowError as error:
        raise BadSetting(error.message, error.hint) from None


def read_choice(name: str, allowed: tuple[str, ...]) -> str:
    """Return the value of a setting; the first of `allowed` is the default. Raises BadSetting."""
    value = os.environ.get(name) or allowed[0]
    if value not in allowed:
        raise BadSetting(f"{name} is {value!r}.", f"Use one of: {', '.join(allowed)}.")
    return value


def read_hours(name: str, default: float) -> float:
    text = os.environ.get(name, "").strip()
    try:
        hours = float(text) if text else default
    except ValueError:
        hours = 0.0
    if not 0 < hours <= MOST_HOURS:
        raise BadSetting(f"{name} is {text!r}.", f"Use a number of hours above 0, at most {MOST_HOURS:g}.")
    return hours


def read_count(name: str, default: int) -> int:
    """Return a whole number above 0. Raises BadSetting."""
    text = os.environ.get(name, "").strip()
    if text and not (text.isdecimal() and 0 < int(text) <= MOST_COUNT):
        raise BadSetting(f"{name} is {text!r}.", f"Use a whole number from 1 to {MOST_COUNT}.")
    return int(text) if text else default


def read_list(name: str) -> list[str]:
    return [part.strip() for part in os.environ.get(name, "").split(",") if part.strip()]


def read_networks(name: str) -> list[str]:
    """Return IP addresses and networks such as 10.0.0.0/8. Raises BadSetting."""
    values = read_list(name)
    for value in values:
        try:
            ip_network(value)
        except ValueError as error:
            raise BadSetting(
                f"{name} holds {value!r}: {error}.", "Use IP addresses and networks, such as 127.0.0.1,10.0.0.0/8."
            ) from None
    return values


def read_secret(name: str, home: Path, *, production: bool) -> list[str]:
    """Return a list of secrets. Outside production, a missing secret is created once, in a file of `home` that only its
    owner can read. Raises BadSetting.

    The value is also set in the environment, where Spark's Python workers read it."""
    if not os.environ.get(name):
        if production:
            raise BadSetting(
                f"{name} is not set, and FLOW_ENV=production needs it.",
                "Give a comma-separated list. The first entry is used to sign or encrypt; the others still verify or "
                "decrypt.",
            )
        os.environ[name] = made_once(home / f"{name.lower()}.secret", MAKERS[name])
    values = read_list(name)
    for value in values:
        CHECKS[name](name, value)
    return values


def _make_secret_key() -> str:
    return secrets.token_urlsafe(50)


def _make_encryption_key() -> str:
    return Fernet.generate_key().decode()


def _check_secret_key(name: str, value: str) -> None:
    if len(value) < 32:
        raise BadSetting(f"{name} contains a key of {len(value)} characters.", "Use at least 32 random characters.")


def _check_encryption_key(name: str, value: str) -> None:
    try:
        Fernet(value)
    except ValueError:
        raise BadSetting(
            f"{name} contains an invalid key. A key is 32 random bytes in URL-safe base64.",
            'Make one: python -c "from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())"',
        ) from None


CHECKS = {"FLOW_SECRET_KEY": _check_secret_key, "FLOW_ENCRYPTION_KEYS": _check_encryption_key}
MAKERS = {"FLOW_SECRET_KEY": _make_secret_key, "FLOW_ENCRYPTION_KEYS": _make_encryption_key}


def made_once(path: Path, make: Callable[[], str]) -> str:
    """Return the text of `path`. The first process creates it; concurrent processes read the same text."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as draft:
            draft.write(make())
        try:
            os.link(draft.name, path)  # atomic; fails if another process was faster
        except FileExistsError:
            pass
        finally:
            os.unlink(draft.name)
    return path.read_text().strip()


def database_settings(url: str) -> dict[str, Any]:
    """Return Django's settings for `postgresql://…` or `sqlite:///path`; without a URL, those of a dummy database whose
    use raises an error."""
    if not url:
        return {"ENGINE": "django.db.backends.dummy"}
    parts = urlsplit(url)
    if parts.scheme not in DATABASES:
        raise BadSetting(
            f"FLOW_DATABASE_URL begins with {parts.scheme!r}.",
            "Use postgresql://user:password@host:port/name or sqlite:///path/to/file.",
        )
    return DATABASES[parts.scheme](parts)


def _sqlite(parts: SplitResult) -> dict[str, Any]:
    path = unquote(parts.path)
    return {
        "ENGINE": "django.db.backends.sqlite3",
        # sqlite:///relative.db and sqlite:////absolute.db, as SQLAlchemy spells them.
        "NAME": path[1:] if len(path) > 1 else ":memory:",
        "OPTIONS": {
            "timeout": 20,
            # A transaction that starts by reading and then writes would fail at once, whatever the timeout.
            "transaction_mode": "IMMEDIATE",
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON",
        },
    }


_FROZEN = "-c idle_in_transaction_session_timeout=60s"
"""The server ends a transaction whose process hangs, so that it does not block the processes that take over."""


def _postgresql(parts: SplitResult) -> dict[str, Any]:
    """Build the settings of a PostgreSQL URL. A socket folder is given as `?host=/folder`, as for libpq. An empty
    `?options=` sends no settings, for poolers that reject them."""
    options: dict[str, Any] = dict(parse_qsl(parts.query, keep_blank_values=True))
    given = options.pop("options", None)
    settings = "" if given == "" else f"{_FROZEN} {given or ''}".strip()
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or "") or options.pop("user", ""),
        "PASSWORD": unquote(parts.password or "") or options.pop("password", ""),
        "HOST": unquote(parts.hostname or "") or options.pop("host", ""),
        "PORT": str(parts.port or "") or options.pop("port", ""),
        "CONN_HEALTH_CHECKS": True,
        "CONN_MAX_AGE": 60,
        "OPTIONS": {"connect_timeout": 10, "options": settings, **options},
    }


DATABASES = {"postgresql": _postgresql, "postgres": _postgresql, "sqlite": _sqlite}
