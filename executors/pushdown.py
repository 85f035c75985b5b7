"""Filters that a source can apply itself: it omits rows below the watermark."""

from __future__ import annotations

from ir import ops
from ir.nodes.branch import Take
from ir.pipeline import Path


def source_column(path: Path, name: str) -> str | None:
    """Return the source column whose unchanged values a working column contains, or None.

    Also return None where omitting rows at the source would change which other rows pass.
    """
    declared = {column.name for column in path.source.columns or ()}
    found: str | None = name
    for transform in reversed(path.transforms):
        for op in reversed(transform.ops):
            found = _before(op, found) if found is not None else None
    return None if found in declared else found


def _before(op: ops.Op, name: str) -> str | None:
    match op:
        case ops.Rename(columns=columns):
            old = {new: old for old, new in columns.items()}
            return old.get(name, None if name in columns else name)
        case ops.Cast(columns=columns) | ops.Derive(columns=columns) | ops.FillNull(columns=columns):
            return None if name in columns else name
        case ops.Trim(columns=names):
            return None if name in names else name
        case ops.RegexExtract(as_=new) | ops.JsonPath(as_=new):
            return None if name == new else name
        case ops.Join(columns=columns):
            return None if name in columns.values() else name
        case ops.Flatten() as flatten:
            return None if name in map(flatten.name_of, flatten.columns) else name
        case ops.Custom() as custom:
            return None if name in custom.made else name
        case ops.SqlQuery():
            return _before_query(op, name)
        case ops.Select() | ops.Drop() | ops.Filter() | Take():
            return name
    return None


def _before_query(op: ops.SqlQuery, name: str) -> str | None:
    query = op.parsed()
    if query is None:
        return None
    for item in query.items:
        if item.name == name:
            return item.column
    return name if query.has_all else None
