"""Adding people, and signing them in by one-time links."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from flowapp.accounts.models import LoginLink, User
from flowapp.accounts.roles import ROLES, UnknownRole, is_at_least
from flowapp.accounts.selectors import UnknownWorkspace, get_workspace, list_memberships
from flowapp.accounts.services import AccountError, add_member, ensure_workspace, make_login_link, use_login_link

pytestmark = pytest.mark.django_db


@pytest.fixture
def alices():
    return ensure_workspace("alices")


def key_of(url: str) -> str:
    return url.rstrip("/").rsplit("/", 1)[1]


def test_a_new_member_has_a_role_here_and_nowhere_else(alices):
    alice = add_member(alices, "alice@example.com", "editor").user

    ensure_workspace("bobs")
    assert [(found.workspace, found.role) for found in list_memberships(alice)] == [(alices, "editor")]


def test_a_new_member_has_no_password_that_could_be_guessed(alices):
    alice = add_member(alices, "alice@example.com", "admin").user

    assert not alice.has_usable_password()


def test_adding_a_member_again_changes_the_role_and_not_the_person(alices):
    add_member(alices, "alice@example.com", "viewer")
    add_member(alices, "Alice@Example.com ", "admin")

    [alice] = User.objects.all()
    assert [found.role for found in list_memberships(alice)] == ["admin"]


def test_an_unknown_role_lists_the_known_ones_and_adds_nobody(alices):
    with pytest.raises(UnknownRole) as caught:
        add_member(alices, "alice@example.com", "owner")

    assert caught.value.hint == "Roles: viewer, editor, admin."
    assert not User.objects.exists()


def test_what_is_no_address_is_refused(alices):
    with pytest.raises(AccountError) as caught:
        add_member(alices, "alice", "viewer")

    assert caught.value.code == "user.email_invalid"


def test_each_role_may_do_what_those_below_it_may():
    assert [[is_at_least(role, needed) for needed in ROLES] for role in ROLES] == [
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]


def test_an_unknown_workspace_lists_the_known_ones(alices):
    with pytest.raises(UnknownWorkspace) as caught:
        get_workspace("bobs")

    assert "alices" in caught.value.hint


def test_a_login_link_signs_in_once(alices):
    alice = add_member(alices, "alice@example.com", "viewer").user
    url, _ = make_login_link("alice@example.com")

    assert use_login_link(key_of(url)) == alice
    with pytest.raises(AccountError) as caught:
        use_login_link(key_of(url))
    assert caught.value.code == "login_link.invalid"


def test_a_login_link_ends_after_a_day(alices):
    add_member(alices, "alice@example.com", "viewer")
    url, link = make_login_link("alice@example.com")

    assert link.expires_at - timezone.now() <= timedelta(hours=24)
    LoginLink.objects.update(expires_at=timezone.now())
    with pytest.raises(AccountError):
        use_login_link(key_of(url))


def test_only_the_hash_of_a_login_link_is_stored(alices):
    add_member(alices, "alice@example.com", "viewer")
    url, link = make_login_link("alice@example.com")

    assert key_of(url) not in {str(value) for value in LoginLink.objects.values().get(pk=link.pk).values()}


def test_a_deactivated_person_gets_no_link_and_cannot_use_one(alices):
    alice = add_member(alices, "alice@example.com", "viewer").user
    url, _ = make_login_link("alice@example.com")
    User.objects.filter(pk=alice.pk).update(is_active=False)

    with pytest.raises(AccountError):
        use_login_link(key_of(url))
    with pytest.raises(AccountError):
        make_login_link("alice@example.com")
