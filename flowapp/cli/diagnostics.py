"""How diagnostics of a document are shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console

from flowapp.cli.outcome import Outcome, show_lines

_COLOURS = {"error": "red", "warning": "yellow"}
