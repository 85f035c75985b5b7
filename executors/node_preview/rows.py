"""Turns evaluated rows into the result of a preview: the result of each row at the node, and the counts of values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from executors.node_preview.model import ColumnPreview, Result, RowPreview, Violation
from ir.pipeline import Path
from ir.types import ColumnType

if TYPE_CHECKING:
    from executors.spark.node_rows import NodeRow, Values


def order_of(path: Path) -> dict[str, int]:
    """Return the position of each node on the path. A reference has the position of its first join."""
    nodes = (path.source, *path.transforms, *path.validates, path.target)
    order = {node.id: place for place, node in enumerate(nodes)}
    for transform in path.transforms:
        for name in transform.references:
            reference = path.references[name]
            for node in (reference.source, *reference.transforms):
                order.setdefault(node.id, order[transform.id])
    return order


def reaches(row: NodeRow, node: str, order: Mapping[str, int]) -> bool:
    """Return whether a row reaches the node."""
    last = left_at(row)
    return last is None or order[last] >= order[node]


def left_at(row: NodeRow) -> str | None:
    """Return the node at which a row ends; None if it reaches the target."""
    rejecting = (node for node, *_, severity in row.entries if severity != "warn")
    return row.filtered_at or next(rejecting, None)


def row_preview(row: NodeRow, node: str, columns: tuple[Sequence[str], Sequence[str]], file: str) -> RowPreview:
    """Return the preview of a row that reaches the node."""
    result = _result(row, node)
    after = row.after if row.staged is None else row.staged
    passes = result in ("passed", "warned")
    return RowPreview(
        file=file,
        record=row.record,
        element=row.element,
        result=result,
        before=None if row.raw is not None else _cells(row.before, columns[0]),
        after=_cells(after, columns[1]) if passes else None,
        violations=tuple(
            Violation(rule, field, text, severity) for at, rule, field, text, severity in row.entries if at == node
        ),
        unreadable=row.unreadable if passes else (),
        raw=row.raw,
    )


def _result(row: NodeRow, node: str) -> Result:
    if row.filtered_at == node:
        return "filtered"
    severities = {severity for at, *_, severity in row.entries if at == node}
    if "abort" in severities:
        return "stops"
    if "skip" in severities:
        return "rejected"
    return "warned" if severities else "passed"


def _cells(values: Values, columns: Sequence[str]) -> tuple[Any, ...]:
    return tuple(values.get(name) for name in columns)


def profile(types: Mapping[str, ColumnType], rows: Iterable[Values]) -> tuple[ColumnPreview, ...]:
    """Return each column with the counts of its values."""
    held = list(rows)
    return tuple(_profile(name, str(kind), [row.get(name) for row in held]) for name, kind in types.items())


def _profile(name: str, kind: str, values: Sequence[Any]) -> ColumnPreview:
    filled = [value for value in values if value is not None]
    return ColumnPreview(name, kind, len(values), len(values) - len(filled), len(set(filled)))
