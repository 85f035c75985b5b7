"""The load modes of PostgreSQL targets, by name in the document."""

from __future__ import annotations

from executors.errors import Terminal
from executors.postgres.load_modes import append, blue_green, cdc_mirror, incremental_watermark, truncate, upsert
from executors.postgres.load_modes.base import LoadHandler

_HANDLERS = (
    append.HANDLER,
    truncate.HANDLER,
    upsert.HANDLER,
    blue_green.HANDLER,
    incremental_watermark.HANDLER,
    cdc_mirror.HANDLER,
)

LOAD_MODES: dict[str, LoadHandler] = {handler.mode: handler for handler in _HANDLERS}
if len(LOAD_MODES) != len(_HANDLERS):
    raise ValueError("two handlers for one load mode")


def load_handler(mode: str) -> LoadHandler:
    if mode not in LOAD_MODES:
        raise Terminal(
            "kind.not_available",
            f"Load mode {mode!r} cannot run on PostgreSQL.",
            hint=f"Available: {', '.join(LOAD_MODES)}.",
        )
    return LOAD_MODES[mode]
