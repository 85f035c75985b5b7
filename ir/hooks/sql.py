"""The `sql` hook."""

from __future__ import annotations

from typing import Literal

from ir.base import Spec, Text


class Sql(Spec):
    type: Literal["sql"]
    statement: Text
    when: Literal["pre_swap"] | None = None
