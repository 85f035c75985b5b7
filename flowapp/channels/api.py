"""API routes for channels, which only admins may use."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.urls import path
from django.views.decorators.debug import sensitive_variables
from drf_spectacular.utils import extend_schema
from pydantic.alias_generators import to_camel
from rest_framework import status
from rest_framework.generics import ListAPIView
from rest_framework.response import Response
from rest_framework.views import APIView

from flowapp.accounts.authentication import author_of
from flowapp.accounts.permissions import workspace_role
from flowapp.accounts.requests import Request
from flowapp.api.paging import FlowCursorPagination
from flowapp.channels.kinds import CHANNEL_KINDS
from flowapp.channels.models import Delivery
from flowapp.channels.selectors import (
    NEWEST_FIRST,
    get_channel,
    get_delivery,
    list_channels,
    list_deliveries,
)
from flowapp.channels.serializers import (
    ChannelChangeRequest,
    ChannelKindRequest,
    ChannelListSerializer,
    ChannelRequest,
    ChannelSerializer,
    DeliverySerializer,
)
from flowapp.channels.services import (
    add_channel,
    change_address,
    change_filter,
    make_address,
    remove_channel,
    require_changeable,
    send_again,
    send_test,
)

ADMINS = (workspace_role(read="admin", write="admin"),)


class Channels(APIView):
    permission_classes = ADMINS

    @extend_schema(operation_id="channels_list", responses=ChannelListSerializer)
    def get(self, request: Request) -> Response:
        """List all channels, without their secrets."""
        return Response(ChannelListSerializer({"results": list_channels(request.workspace)}).data)

    @extend_schema(request=ChannelRequest, responses={201: ChannelSerializer})
    @sensitive_variables()
    def post(self, request: Request) -> Response:
        choice = ChannelKindRequest(data=request.data)
        choice.is_valid(raise_exception=True)
        body = ChannelRequest.variant(CHANNEL_KINDS[choice.validated_data["kind"]])(data=request.data)
        body.is_valid(raise_exception=True)
        given = body.validated_data
        channel = add_channel(
            request.workspace,
            given["name"],
            make_address(given["kind"], given),
            severity=given["severity"],
            kinds=given["alert_kinds"],
        )
        headers = {"Cache-Control": "no-store"}
        return Response(ChannelSerializer(channel).data, status.HTTP_201_CREATED, headers=headers)


def _names_of_fields() -> set[str]:
    """Return the API names of the fields of all kinds."""
    return {to_camel(field.name) for kind in CHANNEL_KINDS.values() for field in kind.fields}


class OneChannel(APIView):
    permission_classes = ADMINS

    @extend_schema(responses=ChannelSerializer)
    def get(self, request: Request, channel: str) -> Response:
        return Response(ChannelSerializer(get_channel(request.workspace, channel)).data)

    @extend_schema(request=ChannelChangeRequest, responses=ChannelSerializer)
    @sensitive_variables()
    def patch(self, request: Request, channel: str) -> Response:
        found = get_channel(request.workspace, channel)
        kind = CHANNEL_KINDS[found.kind]
        change = ChannelChangeRequest.variant(kind)(data=request.data)
        change.is_valid(raise_exception=True)
        require_changeable(set(request.data) & _names_of_fields() - change.fields.keys())
        given = change.validated_data
        severity, kinds = given.pop("severity", found.severity), given.pop("alert_kinds", found.kinds)
        if kind.secret and "secret" in given:
            given[kind.secret.name] = given.pop("secret")
        with transaction.atomic():  # Apply all changes or none.
            if given:
                change_address(found, given)
            change_filter(found, severity=severity, kinds=kinds)
        return Response(ChannelSerializer(found).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, channel: str) -> Response:
        """Delete a channel with its secret and its log."""
        remove_channel(get_channel(request.workspace, channel))
        return Response(status=status.HTTP_204_NO_CONTENT)


class TestChannel(APIView):
    permission_classes = ADMINS

    @extend_schema(request=None, responses=DeliverySerializer)
    def post(self, request: Request, channel: str) -> Response:
        """Send a test message now. The response has the result, also if the receiver did not accept the message."""
        return Response(DeliverySerializer(send_test(get_channel(request.workspace, channel))).data)


class SendAgain(APIView):
    permission_classes = ADMINS

    @extend_schema(request=None, responses=DeliverySerializer)
    def post(self, request: Request, channel: str, key: UUID) -> Response:
        """Resend a failed message under the same key. A repeated request sends it once."""
        found = get_channel(request.workspace, channel)
        send_again(get_delivery(found, key), str(request.user), author_of(request))
        return Response(DeliverySerializer(get_delivery(found, key)).data)


class DeliveryPage(FlowCursorPagination):
    ordering = NEWEST_FIRST


class Deliveries(ListAPIView[Delivery]):
    """The messages of a channel, newest first."""

    request: Request
    permission_classes = ADMINS
    serializer_class = DeliverySerializer
    pagination_class = DeliveryPage

    def get_queryset(self) -> QuerySet[Delivery]:
        if getattr(self, "swagger_fake_view", False):
            return Delivery.objects.none()
        return list_deliveries(get_channel(self.request.workspace, self.kwargs["channel"]))


urlpatterns = [
    path("channels/", Channels.as_view(), name="channels"),
    path("channels/<slug:channel>/", OneChannel.as_view(), name="channel"),
    path("channels/<slug:channel>/test/", TestChannel.as_view(), name="test_channel"),
    path("channels/<slug:channel>/deliveries/<uuid:key>/again/", SendAgain.as_view(), name="send_again"),
    path("channels/<slug:channel>/deliveries/", Deliveries.as_view(), name="deliveries"),
]
