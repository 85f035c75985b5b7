"""The query parameters of a request, checked, with what they name found in the workspace."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rest_framework import serializers

if TYPE_CHECKING:
    from flowapp.accounts.requests import Request


def read_query(
    request: Request, kind: type[serializers.Serializer[Any]], **finders: Callable[[Any, Any], Any]
) -> dict[str, Any]:
    """The parameters that were given; `finders` take a workspace and a parameter, and give what that names.

    Raises ValidationError for what makes no sense, and FlowError for what is not of this workspace.
    """
    given = kind(data=request.query_params)
    given.is_valid(raise_exception=True)
    wanted = dict(given.validated_data)
    found = {name: find(request.workspace, wanted[name]) for name, find in finders.items() if name in wanted}
    return wanted | found
