"""The type of API requests in views."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rest_framework import request

if TYPE_CHECKING:
    from flowapp.accounts.models import Workspace


class Request(request.Request):
    """A request that `WorkspaceRole` has allowed, with its workspace and the role in it."""

    workspace: Workspace
    role: str
