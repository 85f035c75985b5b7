"""Keyset paging of the pages' lists: as fast on the last page as on the first, and never a row twice."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from django.core.exceptions import ValidationError
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Field, Model, Q, QuerySet

Row = TypeVar("Row", bound=Model)
_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")


class PreciseEncoder(DjangoJSONEncoder):
    """Encode microseconds, which Django's encoder truncates; a page would otherwise start one row too early."""

    def default(self, value: Any) -> Any:
        return value.isoformat() if isinstance(value, datetime) else super().default(value)


@dataclass(frozen=True, slots=True)
class PageOf(Generic[Row]):
    """A page of rows with the cursors of the pages before and after it, "" if there is none."""

    rows: Sequence[Row]
    previous: str = ""
    next: str = ""


def take_page(rows: QuerySet[Row], cursor: str, order: Sequence[str], size: int = 50) -> PageOf[Row]:
    """Return a page of `rows` in `order`: columns or annotations, `-` for descending, together unique and never null.

    An invalid cursor gives the first page, because an old bookmark may contain one. It takes one query.
    """
    position = _decode(rows, cursor, order)
    backwards = position is not None and position.backwards
    wanted = [_turned(name) for name in order] if backwards else list(order)
    if position is not None:
        rows = rows.filter(_beyond(wanted, position.values))
    found = list(rows.order_by(*wanted)[: size + 1])
    more, shown = len(found) > size, found[:size]
    if backwards:
        shown.reverse()
    has_before, has_after = (more, True) if backwards else (position is not None, more)
    return PageOf(
        shown,
        _encode(shown[0], order, "b") if has_before and shown else "",
        _encode(shown[-1], order, "f") if has_after and shown else "",
    )


@dataclass(frozen=True, slots=True)
class _Position:
    values: list[Any]
    backwards: bool


def _turned(name: str) -> str:
    return name[1:] if name.startswith("-") else f"-{name}"


def _beyond(order: Sequence[str], values: Sequence[Any]) -> Q:
    """Filter for rows after the one with these values: beyond it in the first column, or equal there and beyond it in
    the next.

    The separate condition on the first column is redundant, but lets the database use the index.
    """
    first = order[0].lstrip("-")
    bound = Q(**{f"{first}__{'lte' if order[0].startswith('-') else 'gte'}": values[0]})
    beyond, equal = Q(), Q()
    for name, value in zip(order, values, strict=True):
        column, comparison = name.lstrip("-"), "lt" if name.startswith("-") else "gt"
        beyond |= equal & Q(**{f"{column}__{comparison}": value})
        equal &= Q(**{column: value})
    return bound & beyond


def _encode(row: Model, order: Sequence[str], direction: str) -> str:
    values = [getattr(row, name.lstrip("-")) for name in order]
    text = json.dumps([direction, *values], cls=PreciseEncoder)
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decode(rows: QuerySet[Row], cursor: str, order: Sequence[str]) -> _Position | None:
    if not cursor:
        return None
    try:
        direction, *values = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        fields = [_field(rows, name) for name in order]
        if len(values) != len(fields):
            return None
        if not all(is_value_of(field, value) for field, value in zip(fields, values, strict=True)):
            return None
        return _Position([f.to_python(v) for f, v in zip(fields, values, strict=True)], direction == "b")
    except (ValueError, TypeError, RecursionError):
        return None


def is_value_of(column: Field[Any, Any], value: Any) -> bool:
    """Return whether a database can compare the column with the value."""
    try:
        found = column.to_python(value)
        column.run_validators(found)
    except (ValidationError, ValueError, TypeError, OverflowError):
        return False
    if isinstance(found, datetime):
        return found.tzinfo is not None
    return found is not None and not (isinstance(found, str) and _NOT_STORABLE.search(found))


def _field(rows: QuerySet[Row], name: str) -> Field[Any, Any]:
    """Return the type of a column of the table or of an annotation."""
    column = name.lstrip("-")
    annotation = rows.query.annotations.get(column)
    found = annotation.output_field if annotation is not None else rows.model._meta.get_field(column)
    if not isinstance(found, Field):
        raise TypeError(f"rows are not ordered by the relation {name!r}")
    return found
