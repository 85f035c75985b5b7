"""Encrypting stored secrets anew: each app registers its columns."""

from __future__ import annotations

from typing import Any

from django.db.models import Model, QuerySet

from flowapp.connections.secrets import rotate
from flowapp.registrations import load_registrations

_columns: list[tuple[type[Model], str]] = []


def register_encrypted(model: type[Model], column: str) -> None:
    """Let `rotate_secrets` encrypt this column anew; an empty text in it is not encrypted."""
    _columns.append((model, column))


def rotate_secrets() -> int:
    """Encrypt all that is stored encrypted under the first key, so that older keys can go; returns how many there are.

    Raises FlowError `secrets.unreadable` where no key fits; what came before stays encrypted anew.
    """
    load_registrations()
    return sum(_rotate(model._default_manager.exclude(**{name: ""}), name) for model, name in _columns)


def _rotate(rows: QuerySet[Any], name: str) -> int:
    """One at a time: samples are big. What somebody replaces meanwhile is encrypted anew already."""
    keys = list(rows.order_by("pk").values_list("pk", flat=True))
    for key in keys:
        for row in rows.filter(pk=key):
            encrypted = getattr(row, name)
            anew = rotate(encrypted, f"{row._meta.verbose_name} {row}")
            rows.filter(pk=key, **{name: encrypted}).update(**{name: anew})
    return len(keys)
