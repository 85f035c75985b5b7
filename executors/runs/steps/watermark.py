"""The watermark of an incremental target. Other targets have none."""

from __future__ import annotations

from executors.runs.state import LoadState
from ir.load_modes import load_mode


def follows_watermark(state: LoadState) -> bool:
    return load_mode(state.target.load_mode).keeps_watermark


def skip_below_watermark(state: LoadState) -> LoadState:
    """Remove the staged rows below the watermark from staging."""
    return state.load.handler.skip_below_watermark(state)
