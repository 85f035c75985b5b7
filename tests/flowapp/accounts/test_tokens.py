"""API tokens: shown once, kept as a hash, gone after their time."""

from __future__ import annotations

import pytest
from django.utils import timezone

from flowapp.accounts.models import Token, User
from flowapp.accounts.selectors import get_token
from flowapp.accounts.services import AccountError, add_member, add_token, ensure_workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def alices():
    return ensure_workspace("alices")


def test_a_token_is_found_by_its_text_with_its_workspace_and_role(alices):
    key, _ = add_token(alices, "ci", "editor", days=1)

    token = get_token(key)
    assert (token.workspace, token.role) == (alices, "editor")


def test_only_the_hash_of_a_token_is_kept(alices):
    key, token = add_token(alices, "ci", "editor", days=1)

    assert key not in {str(value) for value in Token.objects.values().get(pk=token.pk).values()}
    assert get_token(token.digest) is None


def test_an_expired_token_is_no_token(alices):
    key, _ = add_token(alices, "ci", "editor", days=1)
    Token.objects.update(expires_at=timezone.now())

    assert get_token(key) is None


def test_a_token_goes_when_its_maker_is_shut_out(alices):
    alice = add_member(alices, "alice@example.com", "admin").user
    key, _ = add_token(alices, "ci", "editor", days=1, created_by=alice)
    User.objects.update(is_active=False)

    assert get_token(key) is None


@pytest.mark.parametrize("days", [0, -1, 3651])
def test_a_token_always_has_an_end(alices, days):
    with pytest.raises(AccountError) as caught:
        add_token(alices, "ci", "editor", days=days)

    assert caught.value.code == "token.days_invalid"


def test_a_name_is_given_once_in_a_workspace(alices):
    add_token(alices, "ci", "editor", days=1)
    add_token(ensure_workspace("bobs"), "ci", "editor", days=1)

    with pytest.raises(AccountError) as caught:
        add_token(alices, "ci", "viewer", days=1)
    assert caught.value.code == "token.name_taken"
