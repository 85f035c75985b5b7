"""The `refresh_mat_view` hook."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from ir.diagnostics import Diagnostic
from ir.hooks.base import BaseHook
from ir.names import check_table_name
from ir.pointers import Pointer


class RefreshMatView(BaseHook):
    type: Literal["refresh_mat_view"]
    view: str
    concurrently: bool = False

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_table_name(self.view, at / "view", writes=False)
