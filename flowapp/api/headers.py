"""Headers of our own."""

from __future__ import annotations

WORKSPACE = "X-Flow-Workspace"
