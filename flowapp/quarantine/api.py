"""The API's routes for rejected rows."""

from __future__ import annotations

from typing import Any

from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param
from rest_framework.views import APIView

from flowapp.api.queries import read_query
from flowapp.quarantine.counts import GROUPS, count_violations
from flowapp.quarantine.selectors import page_entries
from flowapp.quarantine.values import entry_document

OBJECT = OpenApiTypes.OBJECT


class EntriesWanted(serializers.Serializer[Any]):
    pipeline = serializers.CharField(required=False)
    run = serializers.UUIDField(required=False)
    rule = serializers.CharField(required=False)
    field = serializers.CharField(required=False, allow_blank=True)
    limit = serializers.IntegerField(default=50, min_value=1, max_value=500)
    cursor = serializers.CharField(default="", allow_blank=True)


class CountsWanted(serializers.Serializer[Any]):
    by = serializers.ChoiceField(sorted(GROUPS), default="rule")
    days = serializers.IntegerField(default=30, min_value=1, max_value=3650)
    pipeline = serializers.CharField(required=False)


class Errors(APIView):
    @extend_schema(parameters=[EntriesWanted], responses=OBJECT)
    def get(self, request: Request) -> Response:
        """Violations, newest first, `{"next", "results"}`. Rows are null for roles that see no values."""
        found = page_entries(request.workspace, **read_query(request, EntriesWanted))
        address = request.build_absolute_uri()
        return Response(
            {
                "next": replace_query_param(address, "cursor", found.next) if found.next else None,
                "results": [entry_document(entry, request.role) for entry in found.entries],
            }
        )


class ErrorCounts(APIView):
    @extend_schema(parameters=[CountsWanted], responses=OBJECT)
    def get(self, request: Request) -> Response:
        """Violations counted by pipeline, rule or field; no warehouse is asked."""
        wanted = read_query(request, CountsWanted)
        return Response({"results": count_violations(request.workspace, wanted.pop("by"), **wanted)})


urlpatterns = [
    path("errors/", Errors.as_view(), name="errors"),
    path("errors/counts/", ErrorCounts.as_view(), name="error_counts"),
]
