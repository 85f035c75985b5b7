"""Names of Flow's own HTTP headers."""

from __future__ import annotations

WORKSPACE = "X-Flow-Workspace"
