"""A hook that finds the users of a tap in higher layers."""

from __future__ import annotations

from flowapp.hook import Hook

naming_pipelines: Hook[[str], list[str]] = Hook()
"""The pipelines of all workspaces whose newest version names a tap, as `workspace/pipeline`."""


def pipelines_with(tap: str) -> list[str]:
    """Return the pipelines of all workspaces whose newest version names a tap, as `workspace/pipeline`."""
    return [pipeline for found in naming_pipelines(tap) for pipeline in found]
