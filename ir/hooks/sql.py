"""The `sql` hook."""

from __future__ import annotations

from typing import Literal

from ir.base import Text
from ir.hooks.base import BaseHook


class SqlHook(BaseHook):
    type: Literal["sql"]
    statement: Text
