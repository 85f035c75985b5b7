"""Compares the number of records that arrive with the one that the service states."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from executors.errors import Transient
from executors.http_api.client import Page
from executors.http_api.responses import scalar_at
from ir.json_paths import parse_json_path
from ir.words import counted


class Total:
    """The number at a path of the responses. Without a path, every number of records is right."""

    def __init__(self, path: str | None, name: str) -> None:
        self._path, self._name = path, name
        self._steps = parse_json_path(path) if path is not None else ()
        self._stated: str | None = None

    def add(self, page: Page, *, has_records: bool) -> None:
        """Raises Transient if the number becomes lower: a record was deleted, and one after it may have moved to a page
        that was read before. Some services state another number on the page behind the last one."""
        if self._path is None or (self._stated is not None and not has_records):
            return
        stated = scalar_at(page.text, self._steps)
        if stated is None:
            return
        if self._stated is not None and _number(stated) < _number(self._stated):
            raise self._differs(f"first {self._stated}, then {stated} at {self._path}")
        self._stated = stated

    def require(self, rows: int) -> None:
        """Raises Transient unless this number of records was stated."""
        if self._path is not None and (self._stated is None or _number(self._stated) != rows):
            raise self._differs(f"{counted(rows, 'record')}, but {self._stated or 'no number'} at {self._path}")

    def _differs(self, what: str) -> Transient:
        return Transient(
            "http_api.count_differs",
            f"{self._name} returned {what}.",
            hint="Records may have changed between two pages: run the pipeline again. If the number always differs, "
            "check pages and total.",
        )


def _number(stated: str) -> Decimal:
    """Return a number; one that is lower than all others for another text."""
    try:
        found = Decimal(stated)
    except InvalidOperation:
        return Decimal(-1)
    return found if found.is_finite() else Decimal(-1)
