"""Members and tokens in API requests and responses."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from flowapp.accounts.models import EndedCredentials, Membership, Token
from flowapp.accounts.roles import ROLES
from flowapp.api.serializers import CamelSerializer


class MemberSerializer(CamelSerializer[Membership]):
    id = serializers.IntegerField()
    email = serializers.EmailField(source="user.email")
    role = serializers.ChoiceField(ROLES)
    last_login_at = serializers.DateTimeField(source="user.last_login", allow_null=True)


class MemberRequest(CamelSerializer[Any]):
    email = serializers.EmailField()
    role = serializers.ChoiceField(ROLES)


class EndedCredentialsSerializer(CamelSerializer[EndedCredentials]):
    password = serializers.BooleanField()
    sessions = serializers.BooleanField()
    links = serializers.IntegerField(help_text="Unused login links.")
    tokens = serializers.IntegerField()


class AddedMemberSerializer(MemberSerializer):
    """`endedCredentials` lists the credentials that others may have known; see docs/operations/accounts.md."""

    ended_credentials = EndedCredentialsSerializer(source="ended", allow_null=True)


class TokenSerializer(CamelSerializer[Token]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    role = serializers.ChoiceField(ROLES)
    created_by = serializers.EmailField(
        source="created_by.email", allow_null=True, help_text="Null for a token that was made on the server."
    )
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    ended_reason = serializers.CharField(help_text="Why the token ended before its expiry; empty if it did not.")


class NewTokenSerializer(TokenSerializer):
    """`token` is the text of the token, which only this response contains."""

    token = serializers.SerializerMethodField()

    def get_token(self, token: Token) -> str:
        return str(self.context["key"])


class TokenRequest(CamelSerializer[Any]):
    name = serializers.CharField(max_length=100)
    role = serializers.ChoiceField(ROLES)
    days = serializers.IntegerField(default=90, min_value=1, max_value=3650, help_text="Until it expires.")
