"""Authenticate API clients by `Authorization: Token …`. Browsers use their session and the CSRF token."""

from __future__ import annotations

from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from flowapp.accounts.models import Token, User
from flowapp.accounts.selectors import get_token

KEYWORD = "Token"


class TokenUser:
    """The API client that presents a token. It has no membership of its own."""

    is_authenticated = True
    is_anonymous = False
    is_active = True
    pk = None

    def __init__(self, token: Token) -> None:
        self.token = token

    def __str__(self) -> str:
        return f"token {self.token.name}"


class TokenAuthentication(BaseAuthentication):
    def authenticate(self, request: Request) -> tuple[TokenUser, Token] | None:
        parts = get_authorization_header(request).decode("latin-1").split()
        if not parts or parts[0].lower() != KEYWORD.lower():
            return None
        token = get_token(parts[1]) if len(parts) == 2 else None
        if token is None:
            raise AuthenticationFailed("This token is unknown or has expired.", code="token.invalid")
        return TokenUser(token), token

    def authenticate_header(self, request: Request) -> str:
        """Makes DRF answer 401, not 403."""
        return KEYWORD


def author_of(request: Request) -> User | None:
    """Return the user to record as the author of a change: the signed-in user, or the creator of the token."""
    if isinstance(request.auth, Token):
        return request.auth.created_by
    return request.user if isinstance(request.user, User) else None
