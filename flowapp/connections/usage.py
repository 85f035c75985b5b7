"""A hook that finds the users of a connection in higher layers."""

from __future__ import annotations

from flowapp.accounts.models import Workspace
from flowapp.connections.models import Connection
from flowapp.hook import Hook

naming_pipelines: Hook[[Workspace, str], list[str]] = Hook()
"""The ids of pipelines of a workspace that name a connection."""
before_removal: Hook[[Connection], None] = Hook()
"""Raises FlowError while something needs the connection."""


def pipelines_using(workspace: Workspace, name: str) -> list[str]:
    """Return the ids of pipelines whose newest version names the connection."""
    return [slug for idents in naming_pipelines(workspace, name) for slug in idents]
