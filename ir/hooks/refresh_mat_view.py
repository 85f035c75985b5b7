"""The `refresh_mat_view` hook."""

from __future__ import annotations

from typing import Literal

from ir.base import Spec


class RefreshMatView(Spec):
    type: Literal["refresh_mat_view"]
    view: str
    concurrently: bool = False
    when: Literal["pre_swap"] | None = None
