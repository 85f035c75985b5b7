"""`orderBy`: the column whose highest value determines the last of several rows. It is not SQL's ORDER BY."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ir.diagnostics import Diagnostic, diagnose, shown
from ir.pointers import Pointer
from ir.types import ColumnType

_DIRECTED = re.compile(r"(.*\S)\s+(asc|desc)(?:\s+nulls\s+(?:first|last))?", re.IGNORECASE | re.DOTALL)


_UNORDERED = {"json", "xml", "point", "line", "lseg", "box", "path", "polygon", "circle", "xid", "cid", "aclitem"}


def has_order(kind: ColumnType) -> bool:
    """Return whether values of a column type are ordered."""
    return kind.kind != "json" and not (kind.kind == "pg" and kind.pg_name in _UNORDERED)


def has_direction(order_by: str) -> bool:
    return _DIRECTED.fullmatch(order_by) is not None


def check_order(order_by: str, at: Pointer) -> Iterator[Diagnostic]:
    """Refuse a direction after the column, as in SQL. `desc` only describes what orderBy always does: the highest value
    is first."""
    match = _DIRECTED.fullmatch(order_by)
    if match is None:
        return
    column, is_desc = match[1], match[2].lower() == "desc"
    yield diagnose(
        "order.direction",
        at,
        f"orderBy needs a column without a direction: {shown(order_by)}.",
        hint="" if is_desc else "The row with the highest value is loaded. For the lowest, derive a column such as -x.",
        fixes=[[{"op": "replace", "path": str(at), "value": column}]] if is_desc else (),
    )
