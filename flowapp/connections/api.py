"""The API's routes for connections. Changing or testing one takes an admin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.urls import path
from django.views.decorators.debug import sensitive_variables
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from flowapp.accounts.permissions import workspace_role
from flowapp.connections.allowing import LONGEST_NAME, allow
from flowapp.connections.fields import DEFAULT_PORT, SSL_MODES, ConnectionFields, parse_connection_url
from flowapp.connections.selectors import connection_document, list_connections
from flowapp.connections.services import POSTGRES, add_connection, probe_connection
from flowapp.connections.webhooks import WEBHOOK, WebhookFields

OBJECT = OpenApiTypes.OBJECT
ADMIN_WRITES = (workspace_role(write="admin"),)


class ConnectionWish(serializers.Serializer[Any]):
    """Of a database `url`, or `host`, `database` and `user`; a `password` beside a URL is the better place for it. Of a
    webhook its `url`, `headers` and signing `secret`."""

    name = serializers.CharField(max_length=63)
    kind = serializers.ChoiceField([POSTGRES, WEBHOOK], default=POSTGRES)
    url = serializers.CharField(required=False, write_only=True, max_length=2000)
    host = serializers.CharField(required=False, max_length=253)
    port = serializers.IntegerField(default=DEFAULT_PORT, min_value=1, max_value=65535)
    database = serializers.CharField(required=False, max_length=63)
    user = serializers.CharField(required=False, max_length=63)
    sslmode = serializers.ChoiceField(SSL_MODES, default="prefer")
    password = serializers.CharField(default="", write_only=True, trim_whitespace=False, allow_blank=True)
    headers = serializers.DictField(child=serializers.CharField(), default=dict, write_only=True)
    secret = serializers.CharField(default="", write_only=True, trim_whitespace=False, allow_blank=True)

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        if given["kind"] == WEBHOOK and "url" not in given:
            raise serializers.ValidationError({"url": "A webhook has a url."})
        missing = [name for name in ("host", "database", "user") if name not in given]
        if "url" not in given and missing:
            raise serializers.ValidationError(dict.fromkeys(missing, "Give this, or a url."))
        return given


class Connections(APIView):
    permission_classes = ADMIN_WRITES

    @extend_schema(responses=OBJECT)
    def get(self, request: Request) -> Response:
        """All connections, without their secrets."""
        found = [connection_document(connection) for connection in list_connections(request.workspace)]
        return Response({"next": None, "previous": None, "results": found})

    @extend_schema(request=ConnectionWish, responses={201: OBJECT, 409: OBJECT})
    @sensitive_variables()
    def post(self, request: Request) -> Response:
        wish = ConnectionWish(data=request.data)
        wish.is_valid(raise_exception=True)
        fields, warnings = FIELDS[wish.validated_data["kind"]](wish.validated_data)
        connection = add_connection(request.workspace, wish.validated_data["name"], fields)
        answer = {**connection_document(connection), "warnings": warnings}
        return Response(answer, status.HTTP_201_CREATED, headers={"Cache-Control": "no-store"})


@sensitive_variables()
def _fields_of(given: dict[str, Any]) -> tuple[ConnectionFields, list[str]]:
    """The fields, and what to warn about."""
    if "url" not in given:
        names = ("host", "port", "database", "user", "password", "sslmode")
        return ConnectionFields("postgres", **{name: given[name] for name in names}), []
    url = parse_connection_url(given["url"])
    password = given["password"] or url.password
    warnings = ["A password stood in the URL; send it as `password`."] if url.password else []
    return ConnectionFields(url.kind, url.host, url.port, url.database, url.user, password, url.sslmode), warnings


@sensitive_variables()
def _webhook_of(given: dict[str, Any]) -> tuple[WebhookFields, list[str]]:
    return WebhookFields(given["url"], given["headers"], given["secret"]), []


FIELDS: dict[str, Callable[[dict[str, Any]], tuple[Any, list[str]]]] = {POSTGRES: _fields_of, WEBHOOK: _webhook_of}


class AllowanceWish(serializers.Serializer[Any]):
    """What queries that people write may use over the connection: functions of your own or of extensions, written
    `schema.function`, and a role that is a superuser or may run programs or read or write files of the server. What is
    not given stays as it is."""

    allowedFunctions = serializers.ListField(  # noqa: N815 - the API's name
        child=serializers.CharField(max_length=LONGEST_NAME), required=False, source="functions"
    )
    allowsServerRights = serializers.BooleanField(required=False, source="server_rights")  # noqa: N815


class OneConnection(APIView):
    permission_classes = ADMIN_WRITES

    @extend_schema(request=AllowanceWish, responses=OBJECT)
    def patch(self, request: Request, name: str) -> Response:
        """Change what the connection allows to queries."""
        wish = AllowanceWish(data=request.data)
        wish.is_valid(raise_exception=True)
        return Response(connection_document(allow(request.workspace, name, **wish.validated_data)))


class TestConnection(APIView):
    permission_classes = ADMIN_WRITES

    @extend_schema(request=None, responses=OBJECT)
    def post(self, request: Request, name: str) -> Response:
        """Connect and look at what the role may do; trouble is told in `lastTest`."""
        return Response(connection_document(probe_connection(request.workspace, name)))


urlpatterns = [
    path("connections/", Connections.as_view(), name="connections"),
    path("connections/<slug:name>/", OneConnection.as_view(), name="connection"),
    path("connections/<slug:name>/test/", TestConnection.as_view(), name="test_connection"),
]
