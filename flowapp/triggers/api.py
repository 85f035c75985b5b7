"""API routes for triggers: managing and calling them."""

from __future__ import annotations

from uuid import UUID

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import request as framework
from rest_framework import status
from rest_framework.permissions import AllowAny
from rest_framework.response import Response
from rest_framework.views import APIView

from flowapp.accounts.authentication import author_of
from flowapp.accounts.requests import Request
from flowapp.api.serializers import represent_all
from flowapp.pipelines.selectors import get_pipeline
from flowapp.triggers.calls import MOST_BYTES, Call, answer_call
from flowapp.triggers.models import EventTrigger
from flowapp.triggers.selectors import get_trigger, list_triggers
from flowapp.triggers.serializers import (
    TriggeredRunSerializer,
    TriggerRequest,
    TriggerSerializer,
    TriggerWithSecretSerializer,
)
from flowapp.triggers.services import add_trigger, remove_trigger, rotate_trigger
from ir.errors import FlowError

SIGNATURE = [
    OpenApiParameter(
        "webhook-id", str, OpenApiParameter.HEADER, required=True, description="A unique id for each call."
    ),
    OpenApiParameter("webhook-timestamp", int, OpenApiParameter.HEADER, required=True, description="Unix seconds."),
    OpenApiParameter(
        "webhook-signature",
        str,
        OpenApiParameter.HEADER,
        required=True,
        description="`v1,` and the HMAC-SHA256, in base64, of id, timestamp and body with dots between them.",
    ),
]


class Triggers(APIView):
    """The triggers of a pipeline."""

    @extend_schema(responses=TriggerSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        found = list_triggers(get_pipeline(request.workspace, slug))
        return Response(represent_all(TriggerSerializer, found))

    @extend_schema(request=TriggerRequest, responses={201: TriggerWithSecretSerializer})
    def post(self, request: Request, slug: str) -> Response:
        """Add a trigger. Only this response contains its secret."""
        pipeline, given = get_pipeline(request.workspace, slug), TriggerRequest(data=request.data)
        given.is_valid(raise_exception=True)
        values = given.validated_data
        trigger, secret = add_trigger(
            pipeline, values["name"], values["if_busy"], str(request.user), author_of(request)
        )
        return _with_secret(trigger, secret, status.HTTP_201_CREATED)


class TriggerDetail(APIView):
    """A trigger of a pipeline."""

    @extend_schema(responses={204: None})
    def delete(self, request: Request, slug: str, trigger: UUID) -> Response:
        """Remove the trigger. Calls are refused from now on."""
        remove_trigger(_trigger(request, slug, trigger), str(request.user))
        return Response(status=status.HTTP_204_NO_CONTENT)


class TriggerRotate(APIView):
    @extend_schema(request=None, responses=TriggerWithSecretSerializer)
    def post(self, request: Request, slug: str, trigger: UUID) -> Response:
        """Replace the secret. Calls that are signed with the old one are refused from now on."""
        found = _trigger(request, slug, trigger)
        return _with_secret(found, rotate_trigger(found, str(request.user)))


class TriggerCalls(APIView):
    """The URL that outside programs call."""

    authentication_classes = ()
    permission_classes = (AllowAny,)

    @extend_schema(
        parameters=SIGNATURE,
        request=None,
        responses={202: TriggeredRunSerializer},
        auth=[],
    )
    def post(self, request: framework.Request, trigger: UUID) -> Response:
        """Queue a run. The call is signed with the trigger's secret; its body is not used.

        A repeated call returns the same run. An unknown trigger and a wrong signature have the same response."""
        if int(request.META.get("CONTENT_LENGTH") or 0) > MOST_BYTES or len(body := request.body) > MOST_BYTES:
            raise FlowError(
                "trigger.too_large", f"The body has more than {MOST_BYTES} bytes.", hint="Send less: it is not used."
            )
        answer = answer_call(trigger, Call.read(request.headers, body, request.META.get("REMOTE_ADDR", "")))
        return Response(TriggeredRunSerializer(answer).data, status.HTTP_202_ACCEPTED)


def _trigger(request: Request, slug: str, key: UUID) -> EventTrigger:
    return get_trigger(get_pipeline(request.workspace, slug), key=key)


def _with_secret(trigger: EventTrigger, secret: str, code: int = status.HTTP_200_OK) -> Response:
    body = TriggerWithSecretSerializer(trigger, context={"secret": secret}).data
    return Response(body, code, headers={"Cache-Control": "no-store"})


urlpatterns = [
    path("pipelines/<str:slug>/triggers/", Triggers.as_view(), name="triggers"),
    path("pipelines/<str:slug>/triggers/<uuid:trigger>/", TriggerDetail.as_view(), name="trigger"),
    path("pipelines/<str:slug>/triggers/<uuid:trigger>/rotate/", TriggerRotate.as_view(), name="trigger_rotate"),
    path("triggers/<uuid:trigger>/", TriggerCalls.as_view(), name="trigger_call"),
]
