"""Hooks by which an app calls code of higher layers that it does not import."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar

from flowapp.registrations import load_registrations

P = ParamSpec("P")
R = TypeVar("R")


class Hook(Generic[P, R]):
    """Functions that apps register and the declaring app calls.

    An exception of a function ends the call, because a hook runs in the transaction of its event.
    """

    def __init__(self) -> None:
        self._functions: list[Callable[P, R]] = []

    def register(self, function: Callable[P, R]) -> None:
        self._functions.append(function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> list[R]:
        """Call all functions; return their results in the order of registration."""
        load_registrations()
        return [function(*args, **kwargs) for function in self._functions]
