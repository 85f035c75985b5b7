"""The pipelines of a source file, and the line of each call."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])
PACKAGE = __package__ or ""


class TransformError(Exception):
    """A use of the builder that cannot be recorded."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint, self.line = hint, current_line()


class Source:
    """The source file and the functions that it declares."""

    file = ""
    declared: list[tuple[str, str, int, Callable[..., Any]]] = []  # noqa: RUF012


def pipeline(pipeline_id: str, *, node: str = "shape") -> Callable[[Function], Function]:
    """Declare that a function makes the transforms of a node of a pipeline."""
    line = current_line()

    def declare(function: Function) -> Function:
        Source.declared.append((pipeline_id, node, line, function))
        return function

    return declare


def record_all() -> list[dict[str, Any]]:
    """Call the declared functions; return what they recorded."""
    from flow_transforms.frames import record

    return [record(*one) for one in Source.declared]


def current_line() -> int:
    """Return the current line of the source file; for a call in another file, the line of the source file that led to
    it."""
    frame = sys._getframe(1)
    fallback = 0
    while frame is not None:
        if frame.f_code.co_filename == Source.file:
            return frame.f_lineno
        if not fallback and not frame.f_globals.get("__name__", "").startswith(PACKAGE):
            fallback = frame.f_lineno
        if frame.f_back is None:
            break
        frame = frame.f_back
    return fallback
