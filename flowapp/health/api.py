"""The API's routes for alerts."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from flowapp.accounts.authentication import author_of
from flowapp.api.paging import FlowCursorPagination
from flowapp.api.queries import read_query
from flowapp.health.alerts import acknowledge, resolve
from flowapp.health.kinds import ALERT_KINDS, kind_documents
from flowapp.health.models import Alert, AlertState, Severity
from flowapp.health.selectors import NEWEST_FIRST, alert_document, get_alert, list_alerts
from flowapp.pipelines.selectors import get_pipeline

OBJECT = OpenApiTypes.OBJECT


class AlertsWanted(serializers.Serializer[Any]):
    state = serializers.ChoiceField(AlertState.choices, required=False)
    kind = serializers.ChoiceField(list(ALERT_KINDS), required=False)
    severity = serializers.ChoiceField(Severity.choices, required=False)
    pipeline = serializers.CharField(required=False)


class AlertSerializer(serializers.BaseSerializer[Alert]):
    def to_representation(self, instance: Alert) -> dict[str, Any]:
        return alert_document(instance)


class AlertPage(FlowCursorPagination):
    ordering = NEWEST_FIRST


@extend_schema(parameters=[AlertsWanted], responses=OBJECT)
class Alerts(ListAPIView[Alert]):
    """Alerts, newest first; without `state` those that are not resolved."""

    serializer_class = AlertSerializer
    pagination_class = AlertPage

    def get_queryset(self) -> QuerySet[Alert]:
        return list_alerts(self.request.workspace, **read_query(self.request, AlertsWanted, pipeline=get_pipeline))


class AlertKinds(APIView):
    @extend_schema(responses=OBJECT)
    def get(self, request: Request) -> Response:
        """What alerts there can be, and what resolves each of them by itself."""
        return Response({"next": None, "previous": None, "results": kind_documents()})


class Acknowledge(APIView):
    @extend_schema(request=None, responses={200: OBJECT, 409: OBJECT})
    def post(self, request: Request, alert: UUID) -> Response:
        """Say that somebody looks after it."""
        found = get_alert(request.workspace, alert)
        acknowledge(found, author_of(request))
        return Response(alert_document(get_alert(request.workspace, alert)))


class Resolve(APIView):
    @extend_schema(request=None, responses={200: OBJECT, 409: OBJECT})
    def post(self, request: Request, alert: UUID) -> Response:
        """Close it by hand."""
        resolve(get_alert(request.workspace, alert), author_of(request))
        return Response(alert_document(get_alert(request.workspace, alert)))


urlpatterns = [
    path("alerts/", Alerts.as_view(), name="alerts"),
    path("alerts/kinds/", AlertKinds.as_view(), name="alert_kinds"),
    path("alerts/<uuid:alert>/ack/", Acknowledge.as_view(), name="ack_alert"),
    path("alerts/<uuid:alert>/resolve/", Resolve.as_view(), name="resolve_alert"),
]
