"""Requests to the API as its views get them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rest_framework import request

if TYPE_CHECKING:
    from flowapp.accounts.models import Workspace


class Request(request.Request):
    """A request that `WorkspaceRole` has let through: for which workspace it is, and with which role there."""

    workspace: Workspace
    role: str
