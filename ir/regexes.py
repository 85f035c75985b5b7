"""Regular expressions. RE2 is used everywhere, because its patterns take linear time. Arrow's kernels use RE2 too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import re2

from ir.budget import spend
from ir.diagnostics import Diagnostic, diagnose, shown
from ir.pointers import Pointer


def _options() -> Any:
    options = re2.Options()
    options.log_errors = False
    return options


_OPTIONS = _options()


def compile_regex(pattern: str) -> Any:
    """Compile a pattern. Raises ValueError with RE2's message."""
    spend(100 + 10 * len(pattern))
    try:
        return re2.compile(pattern, _OPTIONS)
    except re2.error as error:
        reason = error.args[0]
        raise ValueError(reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)) from error


def group_count(pattern: str) -> int:
    """Return the number of groups of a pattern. Raises as `compile_regex`."""
    return int(compile_regex(pattern).groups)


def check_regex(pattern: str, at: Pointer) -> Iterator[Diagnostic]:
    try:
        compile_regex(pattern)
    except ValueError as error:
        yield diagnose("regex.not_re2", at, f"RE2 rejects the pattern {shown(pattern)}: {shown(str(error))}.")
