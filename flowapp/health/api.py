"""API routes for alerts and health."""

from __future__ import annotations

from uuid import UUID

from django.db.models import QuerySet
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework.generics import ListAPIView
from rest_framework.permissions import AllowAny
from rest_framework.response import Response
from rest_framework.views import APIView

from flowapp.accounts.authentication import author_of
from flowapp.accounts.requests import Request
from flowapp.alerts.kinds import KINDS
from flowapp.alerts.models import Alert
from flowapp.alerts.selectors import NEWEST_FIRST, get_alert, list_alerts
from flowapp.alerts.serializers import AlertFilter, AlertKindListSerializer, AlertSerializer
from flowapp.alerts.services import acknowledge, resolve
from flowapp.api.paging import FlowCursorPagination
from flowapp.api.queries import read_query
from flowapp.health.serializers import HealthSerializer
from flowapp.pipelines.selectors import get_pipeline
from flowapp.processes.parts import health_document


class Health(APIView):
    authentication_classes = ()
    permission_classes = (AllowAny,)

    @extend_schema(responses={200: HealthSerializer, 503: HealthSerializer})
    def get(self, request: Request) -> Response:
        """Return 200 if the web process and its database work, else 503."""
        document = health_document()
        status = 200 if document["database"]["status"] == "ok" else 503
        return Response(HealthSerializer(document).data, status)


class AlertPage(FlowCursorPagination):
    ordering = NEWEST_FIRST


@extend_schema(parameters=[AlertFilter])
class Alerts(ListAPIView[Alert]):
    """Alerts, newest first. Without `state`, only alerts that are not resolved."""

    request: Request
    serializer_class = AlertSerializer
    pagination_class = AlertPage

    def get_queryset(self) -> QuerySet[Alert]:
        return list_alerts(self.request.workspace, **read_query(self.request, AlertFilter, pipeline=get_pipeline))


class AlertKinds(APIView):
    @extend_schema(responses=AlertKindListSerializer)
    def get(self, request: Request) -> Response:
        """List the kinds of alerts, and what resolves each automatically."""
        return Response(AlertKindListSerializer({"results": KINDS}).data)


class Acknowledge(APIView):
    @extend_schema(request=None, responses=AlertSerializer)
    def post(self, request: Request, alert: UUID) -> Response:
        """Acknowledge an alert. 409 if it is not open."""
        found = get_alert(request.workspace, alert)
        acknowledge(found, author_of(request))
        return Response(AlertSerializer(get_alert(request.workspace, alert)).data)


class Resolve(APIView):
    @extend_schema(request=None, responses=AlertSerializer)
    def post(self, request: Request, alert: UUID) -> Response:
        """Resolve an alert manually. 409 if it is already resolved."""
        resolve(get_alert(request.workspace, alert), author_of(request))
        return Response(AlertSerializer(get_alert(request.workspace, alert)).data)


urlpatterns = [
    path("health/", Health.as_view(), name="health"),
    path("alerts/", Alerts.as_view(), name="alerts"),
    path("alerts/kinds/", AlertKinds.as_view(), name="alert_kinds"),
    path("alerts/<uuid:alert>/ack/", Acknowledge.as_view(), name="ack_alert"),
    path("alerts/<uuid:alert>/resolve/", Resolve.as_view(), name="resolve_alert"),
]
