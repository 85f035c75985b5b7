"""API routes for members and tokens. Changing either requires an admin."""

from __future__ import annotations

from uuid import UUID

from django.db.models import QuerySet
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics, status
from rest_framework.response import Response
from rest_framework.views import APIView

from flowapp.accounts import openapi  # noqa: F401  (its classes are found by having been defined)
from flowapp.accounts.authentication import author_of
from flowapp.accounts.errors import AccountError
from flowapp.accounts.models import Membership, Token
from flowapp.accounts.permissions import workspace_role
from flowapp.accounts.requests import Request
from flowapp.accounts.selectors import get_workspace_token, list_members, list_tokens
from flowapp.accounts.serializers import (
    AddedMemberSerializer,
    MemberRequest,
    MemberSerializer,
    NewTokenSerializer,
    TokenRequest,
    TokenSerializer,
)
from flowapp.accounts.services import add_member, add_token, revoke_token

ADMIN_WRITES = [workspace_role(write="admin")]
ADMIN_ONLY = [workspace_role(read="admin", write="admin")]


class MemberList(generics.ListAPIView[Membership]):
    request: Request
    permission_classes = ADMIN_WRITES
    serializer_class = MemberSerializer
    ordering = ("user__email",)

    def get_queryset(self) -> QuerySet[Membership]:
        return list_members(self.request.workspace)

    @extend_schema(request=MemberRequest, responses={201: AddedMemberSerializer})
    def post(self, request: Request) -> Response:
        """Add a member, or change the role of an existing member."""
        given = MemberRequest(data=request.data)
        given.is_valid(raise_exception=True)
        member = add_member(request.workspace, **given.validated_data)
        return Response(AddedMemberSerializer(member).data, status.HTTP_201_CREATED)


class TokenList(generics.ListAPIView[Token]):
    request: Request
    permission_classes = ADMIN_ONLY
    serializer_class = TokenSerializer
    ordering = ("name",)

    def get_queryset(self) -> QuerySet[Token]:
        return list_tokens(self.request.workspace)

    @extend_schema(request=TokenRequest, responses={201: NewTokenSerializer})
    def post(self, request: Request) -> Response:
        """Create a token. Its text is only in this response."""
        given = TokenRequest(data=request.data)
        given.is_valid(raise_exception=True)
        if (author := author_of(request)) is None:
            raise AccountError(
                "token.no_creator",
                "A token made on the server cannot make other tokens, because they would outlive it.",
                hint="Create the token on the server: `flow token add`.",
            )
        key, token = add_token(request.workspace, **given.validated_data, created_by=author)
        made = NewTokenSerializer(token, context={"key": key})
        return Response(made.data, status.HTTP_201_CREATED, headers={"Cache-Control": "no-store"})

    @extend_schema(
        operation_id="tokens_destroy_by_name",
        parameters=[OpenApiParameter("name", str, required=True)],
        responses={204: None},
    )
    def delete(self, request: Request) -> Response:
        """Revoke the token of that name."""
        revoke_token(get_workspace_token(request.workspace, name=request.query_params.get("name", "")))
        return Response(status=status.HTTP_204_NO_CONTENT)


class TokenDetail(APIView):
    permission_classes = ADMIN_ONLY

    @extend_schema(responses={204: None})
    def delete(self, request: Request, token: UUID) -> Response:
        revoke_token(get_workspace_token(request.workspace, pk=token))
        return Response(status=status.HTTP_204_NO_CONTENT)


urlpatterns = [
    path("members/", MemberList.as_view(), name="members"),
    path("tokens/", TokenList.as_view(), name="tokens"),
    path("tokens/<uuid:token>/", TokenDetail.as_view(), name="token"),
]
