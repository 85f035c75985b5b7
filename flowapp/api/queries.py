"""The query parameters of a request, checked, with what they name found in the workspace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from flowapp.accounts.models import Workspace
from flowapp.pipelines.selectors import get_pipeline
from flowapp.runs.selectors import get_run

_NAMED: dict[str, Callable[[Workspace, Any], Any]] = {"pipeline": get_pipeline, "run": get_run}


def read_query(request: Request, kind: type[serializers.Serializer[Any]]) -> dict[str, Any]:
    """Raises ValidationError for what makes no sense, and FlowError for what is not of this workspace."""
    given = kind(data=request.query_params)
    given.is_valid(raise_exception=True)
    wanted = dict(given.validated_data)
    return wanted | {name: find(request.workspace, wanted[name]) for name, find in _NAMED.items() if name in wanted}
