"""The `custom_function` hook: a function that an installed package registers by entry point."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.metadata import entry_points
from typing import Literal

from pydantic import Field

from ir.base import Object, Text
from ir.diagnostics import Diagnostic, diagnose, listed, shown
from ir.hooks.base import BaseHook
from ir.pointers import Pointer
from ir.spelling import guess

GROUP = "flow.hooks"


@cache
def installed_functions() -> tuple[str, ...]:
    """Return the names that installed packages register. Names of packages that are installed later are known after a
    restart."""
    return tuple(sorted({found.name for found in entry_points(group=GROUP)}))


class CustomFunction(BaseHook):
    """Calls a Python function of an installed package."""

    type: Literal["custom_function"]
    function: Text = Field(description="The name that a package registers in the entry-point group flow.hooks.")
    args: Object | None = Field(None, title="Arguments", description="A JSON object that is passed to the function.")

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        known = installed_functions()
        if self.function not in known:
            near = guess(self.function, known)
            yield diagnose(
                "hook.function_unknown",
                at / "function",
                f"No installed package registers {shown(self.function)} in the entry-point group {GROUP}. Known "
                f"functions: "
                f"{listed(known) or 'none'}.",
                fixes=[[{"op": "replace", "path": str(at / "function"), "value": near}]] if near else [],
            )
