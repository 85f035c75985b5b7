"""Re-encrypt stored secrets. Each app registers its encrypted columns."""

from __future__ import annotations

from typing import Any

from django.db.models import Model, QuerySet

from flowapp.connections.secrets import rotate
from flowapp.registrations import load_registrations

_columns: list[tuple[type[Model], str]] = []


def register_encrypted(model: type[Model], column: str) -> None:
    """Register a column for `rotate_secrets`. An empty text in it is not encrypted."""
    _columns.append((model, column))


def rotate_secrets() -> int:
    """Re-encrypt all stored secrets with the first key, so that older keys can be removed; return their number.

    Raises FlowError `secrets.unreadable` if no key fits; the secrets before that one stay re-encrypted.
    """
    load_registrations()
    return sum(_rotate(model._default_manager.exclude(**{name: ""}), name) for model, name in _columns)


def _rotate(rows: QuerySet[Any], name: str) -> int:
    """Re-encrypt one row at a time, because samples are large. A value that is replaced meanwhile already uses the
    first key."""
    keys = list(rows.order_by("pk").values_list("pk", flat=True))
    for key in keys:
        for row in rows.filter(pk=key):
            encrypted = getattr(row, name)
            rotated = rotate(encrypted, f"{row._meta.verbose_name} {row}")
            rows.filter(pk=key, **{name: encrypted}).update(**{name: rotated})
    return len(keys)
