"""Retention: each app registers the rows that it deletes after some time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Model, Q

from flowapp.clock import from_now
from flowapp.registrations import load_registrations
from ir.words import counted

DAY = 24 * 3600.0
AT_ONCE = 5000


@dataclass(frozen=True, slots=True)
class Retention:
    """A rule that deletes rows of a model whose `age` field is older than `days` and that `only` matches. `what` names
    them."""

    what: str
    model: type[Model]
    age: str
    days: float
    only: Q = field(default_factory=Q)

    def delete(self) -> int:
        """Delete expired rows in small transactions; return their number."""
        model: type[Any] = self.model
        rows = model._default_manager.filter(self.only, **{f"{self.age}__lt": from_now(-self.days * DAY)})
        total = 0
        while keys := list(rows.values_list("pk", flat=True)[:AT_ONCE]):
            model._default_manager.filter(pk__in=keys).delete()
            total += len(keys)
        return total


_rules: list[Retention] = []
_descriptions: list[tuple[str, Callable[[], str]]] = []


def register(*rules: Retention) -> None:
    """Register a rule that is applied every hour and listed for users."""
    _rules.extend(rules)


def describe(what: str, how_long: Callable[[], str]) -> None:
    """Describe a retention that an app enforces itself."""
    _descriptions.append((what, how_long))


def list_retention() -> list[tuple[str, str]]:
    """List the retention periods as text."""
    load_registrations()
    rules = [(rule.what, counted(int(rule.days), "day")) for rule in _rules]
    return [*rules, *((what, how_long()) for what, how_long in _descriptions)]


def delete_old_rows() -> int:
    """Delete expired rows; return their number."""
    load_registrations()
    return sum(rule.delete() for rule in _rules)
