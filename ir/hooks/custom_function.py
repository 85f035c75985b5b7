"""The `custom_function` hook."""

from __future__ import annotations

from typing import Any, Literal

from ir.base import Spec


class CustomFunction(Spec):
    type: Literal["custom_function"]
    function: str
    args: dict[str, Any] | None = None
    when: Literal["pre_swap"] | None = None
