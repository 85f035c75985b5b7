"""Validate query parameters and look up the objects that they name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rest_framework import serializers

if TYPE_CHECKING:
    from flowapp.accounts.requests import Request


def read_query(
    request: Request, kind: type[serializers.Serializer[Any]], **finders: Callable[[Any, Any], Any]
) -> dict[str, Any]:
    """Return the given parameters. Each of `finders` takes a workspace and a parameter and returns the object it names.

    Raises ValidationError for an invalid value, and FlowError for an object that this workspace does not have.
    """
    given = kind(data=request.query_params)
    given.is_valid(raise_exception=True)
    wanted = dict(given.validated_data)
    found = {name: find(request.workspace, wanted[name]) for name, find in finders.items() if name in wanted}
    return wanted | found
