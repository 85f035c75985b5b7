"""The `custom_function` hook: a function that an installed package registers."""

from __future__ import annotations

from typing import Literal

from ir.base import Object, Text
from ir.hooks.base import BaseHook


class CustomFunction(BaseHook):
    type: Literal["custom_function"]
    function: Text
    args: Object | None = None
