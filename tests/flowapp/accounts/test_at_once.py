"""Requests that come at the same moment, over database connections of their own."""

from __future__ import annotations

import threading
import time
from urllib.parse import urlsplit

import pytest
from django.db import transaction
from django.test import Client

from flowapp.accounts.errors import AccountError
from flowapp.accounts.models import Membership, User
from flowapp.accounts.selectors import get_token
from flowapp.accounts.services import (
    add_member,
    add_token,
    ensure_workspace,
    make_login_link,
    make_member_link,
    remove_member,
    set_password,
)
from tests.flowapp.together import at_once
from tests.flowapp.web.conftest import SIGN_IN

pytestmark = pytest.mark.django_db(transaction=True)

PASSWORD = "correct horse battery"


@pytest.fixture
def team():
    return ensure_workspace("alices-team")


def signed_in(user) -> Client:
    client = Client()
    client.force_login(user, backend=SIGN_IN)
    return client


def test_a_link_that_is_posted_many_times_at_once_signs_in_once(team):
    for _ in range(3):
        add_member(team, "alice@example.com", "viewer")
        path = urlsplit(make_login_link("alice@example.com")[0]).path
        statuses = at_once(*[lambda path=path: Client().post(path).status_code] * 12)

        assert sorted(statuses) == [302] + [403] * 11


@pytest.mark.parametrize("how", ["remove", "demote"])
def test_two_admins_who_remove_each_other_concurrently_leave_one(team, how):
    for _ in range(5):
        members = [add_member(team, f"{name}@example.com", "admin") for name in ("alice", "bob")]
        calls = [shut_out(team, actor, other, how) for actor, other in zip(members, reversed(members), strict=True)]
        at_once(*calls)

        assert Membership.objects.filter(workspace=team, role="admin").count() == 1


def shut_out(team, actor: Membership, other: Membership, how: str):
    client, page = signed_in(actor.user), f"/w/{team.slug}/settings/members/"
    if how == "remove":
        return lambda: client.post(f"{page}{other.pk}/remove/")
    return lambda: client.post(page, {"member-email": other.user.email, "member-role": "viewer"})


def test_of_many_concurrent_guesses_exactly_the_limit_is_checked(team, monkeypatch):
    from flowapp.accounts import login
    from flowapp.accounts.throttle import MOST_FAILURES

    set_password(add_member(team, "alice@example.com", "viewer").user, PASSWORD)
    looked_at = []
    authenticate = login.authenticate

    def watched(*args, **kwargs):
        looked_at.append(1)
        return authenticate(*args, **kwargs)

    monkeypatch.setattr(login, "authenticate", watched)
    guess = {"email": "alice@example.com", "password": "wrong"}
    at_once(*[lambda: Client().post("/login/", guess)] * 30)

    assert len(looked_at) == MOST_FAILURES


@pytest.fixture
def boss():
    return add_member(ensure_workspace("bobs-team"), "bob@example.com", "admin").user


@pytest.fixture
def alice(boss):
    return add_member(ensure_workspace("bobs-team"), "alice@example.com", "admin")


def while_joining(team, member: Membership, act):
    """Return the result of `act` that begins when the account has joined the team but the change is not visible yet."""
    has_joined = threading.Event()

    def join() -> None:
        with transaction.atomic():
            add_member(team, member.user.email, "viewer")
            has_joined.set()
            time.sleep(0.5)

    def act_meanwhile():
        assert has_joined.wait(10)
        return act()

    return at_once(join, act_meanwhile)[1]


def opens(client: Client, slug: str) -> bool:
    return client.get(f"/w/{slug}/settings/").status_code == 200


def test_a_link_used_while_the_account_joins_another_workspace_does_not_work(team, boss, alice):
    thief, path = Client(), urlsplit(make_member_link(boss, alice)[0]).path

    assert while_joining(team, alice, lambda: thief.post(path).status_code) == 403
    assert not opens(thief, "alices-team")


def test_no_link_is_made_by_others_while_the_account_joins_another_workspace(team, boss, alice):
    made = while_joining(team, alice, lambda: make_member_link(boss, alice))

    assert made.code == "login_link.not_yours"


def test_no_link_is_made_for_others_by_an_admin_whose_account_joins_another_workspace(team, boss):
    bobs = ensure_workspace("bobs-team")
    carol = add_member(bobs, "carol@example.com", "viewer")
    made = while_joining(team, boss.memberships.get(), lambda: make_member_link(boss, carol))

    assert made.code == "account.signed_out"


def test_two_admins_who_make_links_for_each_other_at_once_both_get_one(team, boss, alice):
    for _ in range(4):
        bobs = add_member(alice.workspace, boss.email, "admin")
        add_member(alice.workspace, alice.user.email, "admin")
        user = User.objects.get(pk=alice.user_id)
        made = at_once(lambda user=user, bobs=bobs: make_member_link(user, bobs), lambda: make_member_link(boss, alice))

        assert not [link for link in made if isinstance(link, AccountError)]


def test_no_password_is_set_by_others_while_the_account_joins_another_workspace(team, alice):
    thief, form = signed_in(alice.user), {"password": PASSWORD, "again": PASSWORD}

    assert while_joining(team, alice, lambda: thief.post("/password/", form).status_code) == 409
    assert not opens(thief, "alices-team")
    assert not User.objects.get(pk=alice.user_id).has_usable_password()


def test_no_token_is_made_by_others_while_the_account_joins_another_workspace(team, alice):
    user, bobs = alice.user, alice.workspace
    made = while_joining(team, alice, lambda: add_token(bobs, "late", "viewer", days=1, created_by=user))

    assert made.code == "account.signed_out"


def test_no_token_outlasts_a_membership_that_ends_at_the_same_moment(team, alice):
    user, bobs = alice.user, alice.workspace
    for number in range(4):
        member = add_member(bobs, user.email, "editor")
        user.refresh_from_db()
        name = f"late-{number}"
        make = lambda name=name: add_token(bobs, name, "viewer", days=1, created_by=user)  # noqa: E731
        made, _ = at_once(make, lambda member=member: remove_member(member))

        assert isinstance(made, AccountError) or get_token(made[0]) is None


def test_two_admins_who_add_each_other_to_their_workspaces_at_once_both_do(team):
    bobs = ensure_workspace("bobs-team")
    alice = add_member(team, "alice@example.com", "admin").user
    bob = add_member(bobs, "bob@example.com", "admin").user
    at_once(lambda: add_member(bobs, alice.email, "viewer"), lambda: add_member(team, bob.email, "viewer"))

    assert Membership.objects.count() == 4
