"""The recordings of the Python and TypeScript builders: calls and expressions as trees, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from ir.errors import FlowError
from ir.expressions import ExpressionError

TAG = "$"
"""The key that distinguishes the tree of an expression from an object of the user."""
MAPPING = "#mapping"
"""The tag of a user's object that itself contains this key."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A function (`upper`), a method of a column (`.eq`, its column first) or a special value (`#decimal`)."""

    name: str
    args: tuple[Any, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Call:
    """A method of a data frame. `after` is the number of calls that led to the state of that frame, 0 for the input."""

    method: str
    after: int
    line: int
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Recording:
    """The calls of one function. `returned` is the call whose result it returned; None if it returned something
    else."""

    pipeline: str
    node: str
    line: int
    calls: tuple[Call, ...]
    returned: int | None

    @classmethod
    def read(cls, value: dict[str, Any]) -> Self:
        calls = tuple(
            Call(call["method"], call["after"], call["line"], tuple(map(read_value, call["args"])), kwargs_of(call))
            for call in value["calls"]
        )
        return cls(value["pipeline"], value["node"], value["line"], calls, value["returned"])


def kwargs_of(call: dict[str, Any]) -> dict[str, Any]:
    return {name: read_value(value) for name, value in call["kwargs"].items()}


def read_value(value: Any) -> Any:
    """Return a recorded value with its trees as `Tree`."""
    if isinstance(value, list):
        return [read_value(item) for item in value]
    if isinstance(value, dict) and value.get(TAG) == MAPPING:
        return {key: read_value(item) for key, item in value["args"][0].items()}
    if isinstance(value, dict) and TAG in value:
        return Tree(value[TAG], tuple(map(read_value, value["args"])), value["line"])
    if isinstance(value, dict):
        return {key: read_value(item) for key, item in value.items()}
    return value


class CodeError(FlowError):
    """A call that cannot be part of a plan, with its line in the source."""

    def __init__(self, message: str, line: int, *, hint: str = "", code: str = "transforms.call_refused") -> None:
        super().__init__(code, message, hint=hint)
        self.line = line


def of_expression(error: ExpressionError, line: int) -> CodeError:
    """Return the refusal of an expression with the line of the call that it is in."""
    return CodeError(error.message, line, hint=error.hint, code=error.code)
