"""Data frames: the operations on the rows of a node, recorded in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from flow_transforms.columns import Column, Recorded, encode
from flow_transforms.recording import TransformError, current_line


class DataFrame:
    """The rows of a node after some calls. Each call returns a new data frame."""

    def __init__(self, calls: list[dict[str, Any]], position: int = 0) -> None:
        self._calls, self._position = calls, position

    def __getattr__(self, name: str) -> Callable[..., DataFrame]:
        if name.startswith("__"):
            raise AttributeError(name)
        return Recorded(name, lambda *args, **kwargs: self._record(name, args, kwargs))

    def _record(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> DataFrame:
        call = {"method": method, "after": self._position, "line": current_line()}
        self._calls.append(call | {"args": encode(args), "kwargs": encode(kwargs)})
        return DataFrame(self._calls, len(self._calls))

    def __getitem__(self, name: str) -> Column:
        return Column("col", name)

    def __bool__(self) -> NoReturn:
        raise TransformError("A data frame has no truth value while the transforms are recorded.")

    def __iter__(self) -> NoReturn:
        raise TransformError("A data frame has no rows while the transforms are recorded.")


def record(pipeline: str, node: str, line: int, function: Callable[..., Any]) -> dict[str, Any]:
    """Call a function with a data frame; return its calls as JSON."""
    calls: list[dict[str, Any]] = []
    returned = function(DataFrame(calls))
    is_own = isinstance(returned, DataFrame) and returned._calls is calls
    return {
        "pipeline": pipeline,
        "node": node,
        "line": line,
        "calls": calls,
        "returned": returned._position if is_own else None,
    }
