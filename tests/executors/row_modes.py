"""The load modes that load rows, by name. `cdc_mirror` applies changes of a log and has tests of its own."""

from __future__ import annotations

from executors.postgres.load_modes import LOAD_MODES
from ir.load_modes import load_mode

ROW_MODES = tuple(name for name in LOAD_MODES if not load_mode(name).follows_stream)
