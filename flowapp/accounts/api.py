"""The API's routes for members and tokens. Changing either takes an admin."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics, serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from flowapp.accounts.authentication import author_of
from flowapp.accounts.errors import AccountError
from flowapp.accounts.models import EndedCredentials, Membership, Token
from flowapp.accounts.permissions import workspace_role
from flowapp.accounts.roles import ROLES
from flowapp.accounts.selectors import get_workspace_token, list_members, list_tokens
from flowapp.accounts.services import add_member, add_token, revoke_token

ADMIN_WRITES = [workspace_role(write="admin")]
ADMIN_ONLY = [workspace_role(read="admin", write="admin")]


class MemberSerializer(serializers.ModelSerializer[Membership]):
    email = serializers.EmailField(source="user.email")
    role = serializers.ChoiceField(choices=ROLES)
    lastLoginAt = serializers.DateTimeField(source="user.last_login", read_only=True)  # noqa: N815

    class Meta:
        model = Membership
        fields = ("id", "email", "role", "lastLoginAt")


class EndedSerializer(serializers.ModelSerializer[EndedCredentials]):
    class Meta:
        model = EndedCredentials
        fields = ("password", "sessions", "links", "tokens")


class AddedSerializer(MemberSerializer):
    """`endedCredentials` are those of the account that others may have had; docs/accounts.md."""

    endedCredentials = EndedSerializer(source="ended", read_only=True, allow_null=True)  # noqa: N815

    class Meta(MemberSerializer.Meta):
        fields = (*MemberSerializer.Meta.fields, "endedCredentials")


class MemberList(generics.ListAPIView[Membership]):
    permission_classes = ADMIN_WRITES
    serializer_class = MemberSerializer
    ordering = ("user__email",)

    def get_queryset(self) -> QuerySet[Membership]:
        return list_members(self.request.workspace)

    @extend_schema(responses={201: AddedSerializer})
    def post(self, request: Request) -> Response:
        """Give a person a role, or change it."""
        given = MemberSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        email, role = given.validated_data["user"]["email"], given.validated_data["role"]
        return Response(AddedSerializer(add_member(request.workspace, email, role)).data, status.HTTP_201_CREATED)


class TokenSerializer(serializers.ModelSerializer[Token]):
    """`token` is the key itself: it is in the answer that makes it and nowhere else."""

    role = serializers.ChoiceField(choices=ROLES)
    days = serializers.IntegerField(write_only=True, default=90, min_value=1, max_value=3650)
    token = serializers.CharField(read_only=True, required=False)
    createdBy = serializers.EmailField(source="created_by.email", read_only=True, default=None)  # noqa: N815
    createdAt = serializers.DateTimeField(source="created_at", read_only=True)  # noqa: N815
    expiresAt = serializers.DateTimeField(source="expires_at", read_only=True)  # noqa: N815
    endedReason = serializers.CharField(source="ended_reason", read_only=True)  # noqa: N815

    class Meta:
        model = Token
        fields = ("id", "name", "role", "days", "token", "createdBy", "createdAt", "expiresAt", "endedReason")


class TokenList(generics.ListAPIView[Token]):
    permission_classes = ADMIN_ONLY
    serializer_class = TokenSerializer
    ordering = ("name",)

    def get_queryset(self) -> QuerySet[Token]:
        return list_tokens(self.request.workspace)

    def post(self, request: Request) -> Response:
        given = TokenSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        if (author := author_of(request)) is None:
            raise AccountError(
                "token.no_creator",
                "A token that was made on the server cannot make others: nothing would end them with it.",
                hint="Make the token on the server: `flow token add`.",
            )
        key, token = add_token(request.workspace, **given.validated_data, created_by=author)
        answer: dict[str, Any] = {**TokenSerializer(token).data, "token": key}
        return Response(answer, status.HTTP_201_CREATED, headers={"Cache-Control": "no-store"})

    @extend_schema(parameters=[OpenApiParameter("name", str, required=True)], responses={204: None})
    def delete(self, request: Request) -> Response:
        """Revoke the token of that name."""
        revoke_token(get_workspace_token(request.workspace, name=request.query_params.get("name", "")))
        return Response(status=status.HTTP_204_NO_CONTENT)


class TokenDetail(generics.GenericAPIView[Token]):
    permission_classes = ADMIN_ONLY
    serializer_class = TokenSerializer

    @extend_schema(responses={204: None})
    def delete(self, request: Request, token: UUID) -> Response:
        revoke_token(get_workspace_token(request.workspace, pk=token))
        return Response(status=status.HTTP_204_NO_CONTENT)


urlpatterns = [
    path("members/", MemberList.as_view(), name="members"),
    path("tokens/", TokenList.as_view(), name="tokens"),
    path("tokens/<uuid:token>/", TokenDetail.as_view(), name="token"),
]
