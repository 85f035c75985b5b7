"""API tokens: shown once, stored as a hash, invalid after their expiry."""

from __future__ import annotations

import pytest
from django.utils import timezone

from flowapp.accounts.models import Token, User
from flowapp.accounts.selectors import get_token
from flowapp.accounts.services import AccountError, add_member, add_token, ensure_workspace, remove_member

pytestmark = pytest.mark.django_db


@pytest.fixture
def alices():
    return ensure_workspace("alices")


def test_a_token_is_found_by_its_text_with_its_workspace_and_role(alices):
    key, _ = add_token(alices, "ci", "editor", days=1)

    token = get_token(key)
    assert (token.workspace, token.role) == (alices, "editor")


def test_only_the_hash_of_a_token_is_stored(alices):
    key, token = add_token(alices, "ci", "editor", days=1)

    assert key not in {str(value) for value in Token.objects.values().get(pk=token.pk).values()}
    assert get_token(token.digest) is None


def test_an_expired_token_is_no_token(alices):
    key, _ = add_token(alices, "ci", "editor", days=1)
    Token.objects.update(expires_at=timezone.now())

    assert get_token(key) is None


def test_a_token_ends_when_its_creator_is_deactivated(alices):
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


@pytest.fixture
def by_alice(alices):
    """Alice's membership, beside another admin, and the text of an admin token of hers."""
    add_member(alices, "bob@example.com", "admin")
    member = add_member(alices, "alice@example.com", "admin")
    return member, add_token(alices, "hers", "admin", days=1, created_by=member.user)[0]


def test_a_token_ends_with_the_membership_of_its_creator(by_alice):
    member, key = by_alice

    assert remove_member(member) == 1
    assert get_token(key) is None
    assert Token.objects.get().ended_reason == "The creator is no longer a member."


def test_a_token_stays_ended_when_its_creator_comes_back(alices, by_alice):
    member, key = by_alice
    remove_member(member)
    add_member(alices, "alice@example.com", "admin")

    assert get_token(key) is None


def test_a_token_does_not_bring_its_removed_creator_back(client, by_alice):
    member, key = by_alice
    remove_member(member)
    body = {"email": "alice@example.com", "role": "admin"}
    headers = {"Authorization": f"Token {key}"}

    assert client.post("/api/members/", body, content_type="application/json", headers=headers).status_code == 401
    assert not member.user.memberships.exists()


def test_a_token_may_do_no_more_than_its_creator_may_now(client, alices, by_alice):
    _, key = by_alice
    add_member(alices, "alice@example.com", "viewer")
    headers = {"Authorization": f"Token {key}"}

    assert client.get("/api/members/", headers=headers).status_code == 200
    assert client.get("/api/tokens/", headers=headers).status_code == 403


def test_a_token_of_the_command_line_depends_on_nobody(alices, by_alice):
    key, _ = add_token(alices, "ci", "admin", days=1)
    remove_member(by_alice[0])

    assert get_token(key).granted_role == "admin"


def test_a_token_of_the_command_line_makes_no_others_that_would_outlast_it(client, alices):
    key, _ = add_token(alices, "ci", "admin", days=1)
    body, headers = {"name": "late", "role": "admin", "days": 3650}, {"Authorization": f"Token {key}"}
    answer = client.post("/api/tokens/", body, content_type="application/json", headers=headers)

    assert (answer.status_code, answer.json()["code"]) == (403, "token.no_creator")
    assert [token.name for token in Token.objects.all()] == ["ci"]


def test_nobody_makes_a_token_for_a_workspace_or_role_that_is_not_theirs(alices):
    viewer = add_member(alices, "viewer@example.com", "viewer").user

    for workspace, role in ((alices, "editor"), (ensure_workspace("bobs"), "viewer")):
        with pytest.raises(AccountError) as caught:
            add_token(workspace, "mine", role, days=1, created_by=viewer)
        assert caught.value.code == "token.role_too_high"
