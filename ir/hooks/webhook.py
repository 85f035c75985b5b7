"""The `webhook` hook."""

from __future__ import annotations

from typing import Literal

from ir.base import Id, Spec, Text


class Webhook(Spec):
    type: Literal["webhook"]
    url: Text | None = None
    connection: Id | None = None
    path: Text | None = None
    when: Literal["pre_swap"] | None = None
