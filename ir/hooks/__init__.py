"""Hook kinds, one file each."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ir.hooks.custom_function import CustomFunction
from ir.hooks.refresh_mat_view import RefreshMatView
from ir.hooks.sql import Sql
from ir.hooks.webhook import Webhook

HOOK_KINDS = (Sql, RefreshMatView, Webhook, CustomFunction)
Hook = Annotated[Sql | RefreshMatView | Webhook | CustomFunction, Field(discriminator="type")]
