"""How an app asks those above it, which it does not know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar

from flowapp.registrations import load_registrations

P = ParamSpec("P")
R = TypeVar("R")


class Hook(Generic[P, R]):
    """Functions that apps register, and that the app which declares the hook calls.

    What a function raises ends the call: a hook is called in the transaction of what it belongs to.
    """

    def __init__(self) -> None:
        self._functions: list[Callable[P, R]] = []

    def register(self, function: Callable[P, R]) -> None:
        self._functions.append(function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> list[R]:
        """What the functions returned, in the order in which they were registered."""
        load_registrations()
        return [function(*args, **kwargs) for function in self._functions]
