"""Load modes, one file each: their declaration, and the rules that a target must satisfy."""

from __future__ import annotations

from ir.kinds import KindTable
from ir.load_modes import append, blue_green, cdc_mirror, incremental_watermark, truncate, upsert
from ir.load_modes.base import LoadMode, TargetView

LOAD_MODE_KINDS = (
    append.MODE,
    truncate.MODE,
    upsert.MODE,
    blue_green.MODE,
    incremental_watermark.MODE,
    cdc_mirror.MODE,
)
LOAD_MODES: KindTable[LoadMode] = KindTable("load mode", ((mode.name, mode) for mode in LOAD_MODE_KINDS))

MODE_FIELDS = frozenset().union(*(mode.fields for mode in LOAD_MODE_KINDS))
"""The attributes of the target that only some modes use."""


def load_mode(name: str) -> LoadMode:
    """Return the load mode of that name. Raises KeyError with the known names."""
    return LOAD_MODES[name]


__all__ = ["LOAD_MODES", "LOAD_MODE_KINDS", "MODE_FIELDS", "LoadMode", "TargetView", "load_mode"]
