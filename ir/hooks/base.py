"""The base of hooks, and their stages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import Field

from ir.base import Spec
from ir.diagnostics import Diagnostic
from ir.pointers import Pointer

Stage = Literal["preHook", "preSwap", "postHook"]
"""When a hook runs: before the load, between filling a new table and swapping it in, or after the load."""


class BaseHook(Spec):
    """An action before or after a load. `needs_admin`: only an admin may save such a hook."""

    needs_admin: ClassVar[bool] = False
    type: str
    when: Literal["pre_swap"] | None = Field(
        None,
        description="pre_swap runs a hook of blue_green after the new table is filled and before it replaces the old "
        "one.",
        json_schema_extra={"advanced": True, "group": "Advanced"},
    )

    def kinds(self, at: Pointer) -> Iterator[tuple[str, str, Pointer]]:
        yield "hook", self.type, at / "type"

    def check_stage(self, stage: Stage, at: Pointer) -> Iterator[Diagnostic]:
        """Check that the hook can run at that stage."""
        yield from ()


def stage_at(hook: BaseHook, at: Pointer) -> Stage:
    """Return the stage of a hook by its position in a document."""
    if hook.when == "pre_swap":
        return "preSwap"
    return "preHook" if "preHook" in at else "postHook"


@dataclass(frozen=True, slots=True)
class TargetHook:
    """A hook of a target. `id` identifies it in runs: target, field and index in the field's list."""

    id: str
    stage: Stage
    hook: BaseHook
