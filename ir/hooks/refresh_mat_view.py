"""The `refresh_mat_view` hook."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from ir.diagnostics import Diagnostic
from ir.hooks.base import BaseHook
from ir.names import check_table_name
from ir.pointers import Pointer


class RefreshMatView(BaseHook):
    """Refreshes a materialized view."""

    type: Literal["refresh_mat_view"]
    view: str = Field(title="Materialized view", description="The view, as schema.view.", examples=['public."My View"'])
    concurrently: bool = Field(False, description="Does not block readers. The view needs a unique index.")

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_table_name(self.view, at / "view", writes=False)
