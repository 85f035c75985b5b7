"""API routes for connections. Changing or testing a connection requires an admin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.urls import path
from django.views.decorators.debug import sensitive_variables
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.response import Response
from rest_framework.views import APIView

from flowapp.accounts.permissions import workspace_role
from flowapp.accounts.requests import Request
from flowapp.connections.allowing import allow
from flowapp.connections.fields import ConnectionFields, parse_connection_url
from flowapp.connections.host_keys import confirm_host_key
from flowapp.connections.selectors import get_connection, list_connections
from flowapp.connections.serializers import (
    AddedConnectionSerializer,
    AllowanceRequest,
    ConnectionListSerializer,
    ConnectionRequest,
    ConnectionSerializer,
    HostKeyRequest,
)
from flowapp.connections.services import POSTGRES, add_connection, probe_connection
from flowapp.connections.store_fields import StoreFields
from flowapp.connections.webhook_fields import WEBHOOK, WebhookFields
from ir.manifests.stores import STORE_KINDS

ADMIN_WRITES = (workspace_role(write="admin"),)


class Connections(APIView):
    permission_classes = ADMIN_WRITES

    @extend_schema(operation_id="connections_list", responses=ConnectionListSerializer)
    def get(self, request: Request) -> Response:
        """List all connections, without their secrets."""
        return Response(ConnectionListSerializer({"results": list_connections(request.workspace)}).data)

    @extend_schema(request=ConnectionRequest, responses={201: AddedConnectionSerializer})
    @sensitive_variables()
    def post(self, request: Request) -> Response:
        body = ConnectionRequest(data=request.data)
        body.is_valid(raise_exception=True)
        fields, warnings = FIELDS[body.validated_data["kind"]](body.validated_data)
        connection = add_connection(request.workspace, body.validated_data["name"], fields)
        added = AddedConnectionSerializer(connection, context={"warnings": warnings})
        return Response(added.data, status.HTTP_201_CREATED, headers={"Cache-Control": "no-store"})


@sensitive_variables()
def _fields_of(given: dict[str, Any]) -> tuple[ConnectionFields, list[str]]:
    """Return the connection fields and the warnings about them."""
    if "url" not in given:
        names = ("host", "port", "database", "user", "password", "sslmode")
        return ConnectionFields("postgres", **{name: given[name] for name in names}), []
    url = parse_connection_url(given["url"])
    password = given["password"] or url.password
    warnings = ["The URL contained a password; send it as `password`."] if url.password else []
    return ConnectionFields(url.kind, url.host, url.port, url.database, url.user, password, url.sslmode), warnings


@sensitive_variables()
def _webhook_of(given: dict[str, Any]) -> tuple[WebhookFields, list[str]]:
    return WebhookFields(given["url"], given["headers"], given["secret"]), []


@sensitive_variables()
def _store_of(given: dict[str, Any]) -> tuple[StoreFields, list[str]]:
    return StoreFields(given["kind"], given["settings"], given.get("secrets", {})), []


FIELDS: dict[str, Callable[[dict[str, Any]], tuple[Any, list[str]]]] = {
    POSTGRES: _fields_of,
    WEBHOOK: _webhook_of,
    **dict.fromkeys(STORE_KINDS, _store_of),
}


class OneConnection(APIView):
    permission_classes = ADMIN_WRITES

    @extend_schema(request=AllowanceRequest, responses=ConnectionSerializer)
    def patch(self, request: Request, name: str) -> Response:
        """Change what the connection allows to queries."""
        body = AllowanceRequest(data=request.data)
        body.is_valid(raise_exception=True)
        return Response(ConnectionSerializer(allow(request.workspace, name, **body.validated_data)).data)


class TestConnection(APIView):
    permission_classes = ADMIN_WRITES

    @extend_schema(request=None, responses=ConnectionSerializer)
    def post(self, request: Request, name: str) -> Response:
        """Connect, check the rights of the role, and return the result in `lastTest`. A failed test is a result, not an
        error."""
        return Response(ConnectionSerializer(probe_connection(request.workspace, name)).data)


class ConfirmHostKey(APIView):
    permission_classes = ADMIN_WRITES

    @extend_schema(request=HostKeyRequest, responses=ConnectionSerializer)
    def post(self, request: Request, name: str) -> Response:
        """Trust the host key that the last test of an SFTP server has shown."""
        get_connection(request.workspace, name)  # before the body: a connection of others does not exist
        body = HostKeyRequest(data=request.data)
        body.is_valid(raise_exception=True)
        confirmed = confirm_host_key(request.workspace, name, body.validated_data["fingerprint"])
        return Response(ConnectionSerializer(confirmed).data)


urlpatterns = [
    path("connections/", Connections.as_view(), name="connections"),
    path("connections/<slug:name>/", OneConnection.as_view(), name="connection"),
    path("connections/<slug:name>/test/", TestConnection.as_view(), name="test_connection"),
    path("connections/<slug:name>/host-key/", ConfirmHostKey.as_view(), name="confirm_host_key"),
]
