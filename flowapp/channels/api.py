"""The API's routes for channels, for admins alone."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.urls import path
from django.views.decorators.debug import sensitive_variables
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from flowapp.accounts.authentication import author_of
from flowapp.accounts.permissions import workspace_role
from flowapp.api.paging import FlowCursorPagination
from flowapp.channels.kinds import CHANNEL_KINDS
from flowapp.channels.kinds.email import SECURITIES
from flowapp.channels.models import Delivery
from flowapp.channels.selectors import (
    NEWEST_FIRST,
    channel_document,
    delivery_document,
    get_channel,
    get_delivery,
    list_channels,
    list_deliveries,
)
from flowapp.channels.services import (
    add_channel,
    change_address,
    change_filter,
    make_address,
    remove_channel,
    send_again,
    send_test,
)
from flowapp.health.models import Severity

OBJECT = OpenApiTypes.OBJECT
ADMINS = (workspace_role(read="admin", write="admin"),)


class AlertsTold(serializers.Serializer[Any]):
    """`severity` is the least that is told; without `alertKinds` all kinds are."""

    severity = serializers.ChoiceField(Severity.choices, default=Severity.WARNING)
    alertKinds = serializers.ListField(child=serializers.CharField(), default=list)  # noqa: N815 - the API's name


class ChannelWish(AlertsTold):
    """Of a webhook `url`, signing `secret` and `headers`; of e-mail `host`, `sender`, `to`, `security`, `port`, `user`
    and `password`."""

    name = serializers.CharField(max_length=63)
    kind = serializers.ChoiceField(list(CHANNEL_KINDS))
    url = serializers.CharField(default="", write_only=True, max_length=2000)
    secret = serializers.CharField(default="", write_only=True, trim_whitespace=False)
    headers = serializers.DictField(child=serializers.CharField(), default=dict, write_only=True)
    host = serializers.CharField(default="", max_length=253)
    sender = serializers.CharField(default="", max_length=254)
    to = serializers.ListField(child=serializers.CharField(max_length=254), default=list)
    security = serializers.ChoiceField(SECURITIES, default="starttls")
    port = serializers.IntegerField(default=0, min_value=0, max_value=65535)
    user = serializers.CharField(default="", allow_blank=True, max_length=254)
    password = serializers.CharField(default="", write_only=True, trim_whitespace=False, allow_blank=True)


class ChannelChange(serializers.Serializer[Any]):
    """What is given is changed. `secret` is the new password or signing secret; another `host`, `port` or `security` of
    e-mail wants the password again."""

    severity = serializers.ChoiceField(Severity.choices, required=False)
    alertKinds = serializers.ListField(child=serializers.CharField(), required=False)  # noqa: N815
    secret = serializers.CharField(required=False, write_only=True, trim_whitespace=False, allow_blank=True)
    host = serializers.CharField(required=False, max_length=253)
    sender = serializers.CharField(required=False, max_length=254)
    to = serializers.ListField(child=serializers.CharField(max_length=254), required=False)
    security = serializers.ChoiceField(SECURITIES, required=False)
    port = serializers.IntegerField(required=False, min_value=0, max_value=65535)
    user = serializers.CharField(required=False, allow_blank=True, max_length=254)


class Channels(APIView):
    permission_classes = ADMINS

    @extend_schema(responses=OBJECT)
    def get(self, request: Request) -> Response:
        """All channels, without their secrets."""
        found = [channel_document(channel) for channel in list_channels(request.workspace)]
        return Response({"next": None, "previous": None, "results": found})

    @extend_schema(request=ChannelWish, responses={201: OBJECT, 409: OBJECT})
    @sensitive_variables()
    def post(self, request: Request) -> Response:
        wish = ChannelWish(data=request.data)
        wish.is_valid(raise_exception=True)
        given = wish.validated_data
        channel = add_channel(
            request.workspace,
            given["name"],
            make_address(given["kind"], given),
            severity=given["severity"],
            kinds=given["alertKinds"],
        )
        headers = {"Cache-Control": "no-store"}
        return Response(channel_document(channel), status.HTTP_201_CREATED, headers=headers)


class OneChannel(APIView):
    permission_classes = ADMINS

    @extend_schema(responses=OBJECT)
    def get(self, request: Request, channel: str) -> Response:
        return Response(channel_document(get_channel(request.workspace, channel)))

    @extend_schema(request=ChannelChange, responses=OBJECT)
    @sensitive_variables()
    def patch(self, request: Request, channel: str) -> Response:
        found = get_channel(request.workspace, channel)
        change = ChannelChange(data=request.data)
        change.is_valid(raise_exception=True)
        given = change.validated_data
        severity, kinds = given.pop("severity", found.severity), given.pop("alertKinds", found.kinds)
        if "secret" in given:
            given[CHANNEL_KINDS[found.kind].secret_field] = given.pop("secret")
        with transaction.atomic():  # all that was sent, or nothing of it
            if given:
                change_address(found, given)
            change_filter(found, severity=severity, kinds=kinds)
        return Response(channel_document(found))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, channel: str) -> Response:
        """Forget it, its secret and its log."""
        remove_channel(get_channel(request.workspace, channel))
        return Response(status=status.HTTP_204_NO_CONTENT)


class TestChannel(APIView):
    permission_classes = ADMINS

    @extend_schema(request=None, responses=OBJECT)
    def post(self, request: Request, channel: str) -> Response:
        """Send a test now; what came of it is told, also when it was not taken."""
        return Response(delivery_document(send_test(get_channel(request.workspace, channel))))


class SendAgain(APIView):
    permission_classes = ADMINS

    @extend_schema(request=None, responses={200: OBJECT, 409: OBJECT})
    def post(self, request: Request, channel: str, key: UUID) -> Response:
        """Send a message that failed once more, under the same key. Asked for twice it is sent once."""
        found = get_channel(request.workspace, channel)
        send_again(get_delivery(found, key), str(request.user), author_of(request))
        return Response(delivery_document(get_delivery(found, key)))


class DeliverySerializer(serializers.BaseSerializer[Delivery]):
    def to_representation(self, instance: Delivery) -> dict[str, Any]:
        return delivery_document(instance)


class DeliveryPage(FlowCursorPagination):
    ordering = NEWEST_FIRST


@extend_schema(responses=OBJECT)
class Deliveries(ListAPIView[Delivery]):
    """What was sent by a channel, the newest first."""

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
