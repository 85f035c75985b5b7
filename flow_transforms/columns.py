"""Columns: expressions over the columns of a row, recorded as trees of names and arguments."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NoReturn

from flow_transforms.recording import TransformError, current_line


class Column:
    """An expression. Its methods are those of PySpark. `flow compile` checks that they exist."""

    __slots__ = ("tree",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, name: str, *args: Any) -> None:
        self.tree = {"$": name, "args": [encode(arg) for arg in args], "line": current_line()}

    def __getattr__(self, name: str) -> Callable[..., Column]:
        if name.startswith("__"):
            raise AttributeError(name)
        return Recorded(f".{name}", lambda *args: Column(f".{name}", self, *args))

    def __eq__(self, other: Any) -> Column:  # type: ignore[override]
        return Column(".eq", self, other)

    def __ne__(self, other: Any) -> Column:  # type: ignore[override]
        return Column(".ne", self, other)

    def __lt__(self, other: Any) -> Column:
        return Column(".lt", self, other)

    def __le__(self, other: Any) -> Column:
        return Column(".le", self, other)

    def __gt__(self, other: Any) -> Column:
        return Column(".gt", self, other)

    def __ge__(self, other: Any) -> Column:
        return Column(".ge", self, other)

    def __and__(self, other: Any) -> Column:
        return Column(".and", self, other)

    def __or__(self, other: Any) -> Column:
        return Column(".or", self, other)

    def __add__(self, other: Any) -> Column:
        return Column(".add", self, other)

    def __sub__(self, other: Any) -> Column:
        return Column(".sub", self, other)

    def __mul__(self, other: Any) -> Column:
        return Column(".mul", self, other)

    def __truediv__(self, other: Any) -> Column:
        return Column(".div", self, other)

    def __mod__(self, other: Any) -> Column:
        return Column(".mod", self, other)

    def __rand__(self, other: Any) -> Column:
        return Column(".and", Column("lit", other), self)

    def __ror__(self, other: Any) -> Column:
        return Column(".or", Column("lit", other), self)

    def __radd__(self, other: Any) -> Column:
        return Column(".add", Column("lit", other), self)

    def __rsub__(self, other: Any) -> Column:
        return Column(".sub", Column("lit", other), self)

    def __rmul__(self, other: Any) -> Column:
        return Column(".mul", Column("lit", other), self)

    def __rtruediv__(self, other: Any) -> Column:
        return Column(".div", Column("lit", other), self)

    def __rmod__(self, other: Any) -> Column:
        return Column(".mod", Column("lit", other), self)

    def __invert__(self) -> Column:
        return Column(".not", self)

    def __neg__(self) -> Column:
        return Column(".neg", self)

    def __bool__(self) -> NoReturn:
        raise TransformError(
            "A column has no truth value while the transforms are recorded.",
            "Combine conditions with &, | and ~, each in parentheses, and choose values with F.when.",
        )

    def __iter__(self) -> NoReturn:
        raise TransformError("A column is not a list.", "Use F.element_at or F.get for an item of an array.")

    def __contains__(self, value: object) -> NoReturn:
        raise TransformError("`in` cannot be recorded.", "Write column.isin(…) or column.contains(…).")

    def __getitem__(self, key: object) -> NoReturn:
        raise TransformError("An index of a column cannot be recorded.", "Use F.element_at or F.get.")

    def __pow__(self, other: object) -> NoReturn:
        raise TransformError("`**` cannot be recorded.", "Write F.pow(column, …).")

    def __floordiv__(self, other: object) -> NoReturn:
        raise TransformError("`//` cannot be recorded.", "Write F.floor(a / b).")


class Recorded:
    """A reference to a method or function. It can only be called."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, name: str, call: Callable[..., Any]) -> None:
        self._name, self._call = name, call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)

    def _refuse(self, *_: object) -> NoReturn:
        name = self._name.lstrip(".")
        raise TransformError(f"{name} is a method, not a column.", f'Write F.col("{name}"), or call {name}().')

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __add__ = __sub__ = __mul__ = __truediv__ = _refuse
    __and__ = __or__ = __invert__ = __bool__ = __getitem__ = _refuse

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()


def encode(value: Any) -> Any:
    """Return a value as JSON: a column as its tree, dates and decimals as trees of their text."""
    if isinstance(value, Column):
        return value.tree
    if isinstance(value, Decimal):
        return _tagged("#decimal", format(value, "f"))
    if type(value) is datetime.date:
        return _tagged("#date", value.isoformat())
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    if isinstance(value, dict):
        mapping = {_key(key): encode(item) for key, item in value.items()}
        # A column may be called $, by which trees are known.
        return _tagged("#mapping", mapping) if "$" in mapping else mapping
    if value is None or isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise TransformError(
        f"A value of type {type(value).__name__} cannot be part of a plan.",
        "Use columns, text, numbers, True, False, None, Decimal and date.",
    )


def _tagged(name: str, value: Any) -> dict[str, Any]:
    return {"$": name, "args": [value], "line": current_line()}


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise TransformError(f"The key {key!r} is not the name of a column.", "Write names as text.")
    return key
