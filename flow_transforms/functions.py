"""Functions of columns, by their names in PySpark and Spark SQL: `from flow_transforms import functions as F`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flow_transforms.columns import Column, Recorded


def col(name: str) -> Column:
    """Return a column by its name. The name is used unchanged: a dot is part of it."""
    return Column("col", name)


def lit(value: Any) -> Column:
    """Return a literal value."""
    return value if isinstance(value, Column) else Column("lit", value)


def expr(text: str) -> Column:
    """Return a Spark SQL expression."""
    return Column("expr", text)


def when(condition: Column, value: Any) -> Column:
    """Begin a CASE. `.when(…)` adds a condition, `.otherwise(…)` ends it."""
    return Column("when", condition, value)


def __getattr__(name: str) -> Callable[..., Column]:
    if name.startswith("__"):
        raise AttributeError(name)
    return Recorded(name, lambda *args: Column(name, *args))
