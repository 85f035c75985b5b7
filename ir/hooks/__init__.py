"""Hook kinds, one file each."""

from __future__ import annotations

from typing import Annotated

from ir.annotations import ByTag, tag_of
from ir.hooks.base import BaseHook
from ir.hooks.custom_function import CustomFunction
from ir.hooks.refresh_mat_view import RefreshMatView
from ir.hooks.sql import SqlHook
from ir.hooks.webhook import Webhook
from ir.kinds import KindTable

HOOK_KINDS = (SqlHook, RefreshMatView, Webhook, CustomFunction)
HOOKS: KindTable[type[BaseHook]] = KindTable("hook", ((tag_of(kind, "type"), kind) for kind in HOOK_KINDS))
Hook = Annotated[SqlHook | RefreshMatView | Webhook | CustomFunction, ByTag("type")]
