"""Find the workspace that commands work in."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowapp.accounts.models import Workspace


OPERATOR = "admin"
"""The role that commands act with. Users of the server's shell can read its keys, so they have full access already."""


def current_workspace() -> Workspace:
    """Return the workspace that FLOW_WORKSPACE names. `default` is created on first use; any other must exist."""
    from django.conf import settings

    from flowapp.accounts.selectors import get_workspace
    from flowapp.accounts.services import ensure_workspace

    slug = settings.FLOW_WORKSPACE
    return ensure_workspace(slug) if slug == "default" else get_workspace(slug)
