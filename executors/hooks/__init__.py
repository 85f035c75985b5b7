"""The implementations of hook kinds, one file each."""

from __future__ import annotations

from executors.hooks import custom_function, refresh_mat_view, sql, webhook
from executors.hooks.base import HookHandler
from ir.kinds import KindTable

HANDLERS: KindTable[HookHandler] = KindTable(
    "hook",
    (
        (handler.kind, handler)
        for handler in (sql.HANDLER, refresh_mat_view.HANDLER, webhook.HANDLER, custom_function.HANDLER)
    ),
)
