"""A hook that finds the users of a module in higher layers."""

from __future__ import annotations

from flowapp.accounts.models import Workspace
from flowapp.hook import Hook

naming_pipelines: Hook[[Workspace], dict[str, list[str]]] = Hook()
"""The ids of pipelines of a workspace whose newest version names a build, by how it is named."""


def pipelines_by_module(workspace: Workspace) -> dict[str, list[str]]:
    """Return the ids of pipelines whose newest version names a build, by how it is named."""
    return {ref: slugs for found in naming_pipelines(workspace) for ref, slugs in found.items()}
