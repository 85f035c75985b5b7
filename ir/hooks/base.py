"""What all hooks share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from ir.base import Spec
from ir.pointers import Pointer


class BaseHook(Spec):
    """Something that is done before or after a load. `when: pre_swap` is for post-hooks of blue_green alone."""

    type: str
    when: Literal["pre_swap"] | None = None

    def kinds(self, at: Pointer) -> Iterator[tuple[str, str, Pointer]]:
        yield "hook", self.type, at / "type"
