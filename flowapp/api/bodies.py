"""Request bodies that several routes share."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request


class Reason(serializers.Serializer[Any]):
    reason = serializers.CharField(max_length=2000)


def read_reason(request: Request, *, or_query: bool = False) -> str:
    """Return the reason in the body; with `or_query` the query's reason if there is no body. Raises ValidationError."""
    given = Reason(data=request.data or request.query_params if or_query else request.data)
    given.is_valid(raise_exception=True)
    reason: str = given.validated_data["reason"]
    return reason
