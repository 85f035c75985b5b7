"""Makers of login links for an account cannot enter workspaces that it joins later."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest
from django.test import Client

from flowapp.accounts.errors import AccountError
from flowapp.accounts.models import Membership, User
from flowapp.accounts.services import add_member, add_token, ensure_workspace, make_login_link, set_password
from tests.flowapp.web.conftest import SIGN_IN

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse battery"
VICTIM = "victim@example.com"


def admin_of(slug: str) -> Client:
    client = Client()
    user = add_member(ensure_workspace(slug), f"admin-of-{slug}@example.com", "admin").user
    client.force_login(user, backend=SIGN_IN)
    return client


def add(admin: Client, slug: str, email: str = VICTIM, role: str = "editor"):
    return admin.post(
        f"/w/{slug}/settings/members/", {"member-email": email, "member-role": role}, follow=True
    ).content.decode()


def link_of(admin: Client, slug: str, email: str = VICTIM) -> str:
    member = Membership.objects.get(user__email=email, workspace__slug=slug)
    page = admin.post(f"/w/{slug}/settings/members/{member.pk}/link/").content.decode()
    return urlsplit(re.search(r'id="new-link">([^<]+)<', page)[1]).path


def sign_in_by(path: str) -> Client:
    client = Client()
    client.post(path)
    return client


def server_link(email: str = VICTIM) -> str:
    return urlsplit(make_login_link(email)[0]).path


def remove(admin: Client, slug: str, email: str = VICTIM) -> None:
    member = Membership.objects.get(user__email=email, workspace__slug=slug)
    admin.post(f"/w/{slug}/settings/members/{member.pk}/remove/")


def opens(client: Client, slug: str) -> bool:
    return client.get(f"/w/{slug}/settings/").status_code == 200


def password_opens(slug: str, password: str = PASSWORD, email: str = VICTIM) -> bool:
    client = Client()
    client.post("/login/", {"email": email, "password": password})
    return opens(client, slug)


@pytest.fixture
def attacker() -> Client:
    """An admin of workspace b who has added the victim's address there."""
    admin = admin_of("b")
    add(admin, "b")
    return admin


@pytest.fixture
def defender() -> Client:
    return admin_of("a")


@pytest.fixture
def stolen(attacker) -> Client:
    """A session that b's admin has signed in as the victim, with a password that b's admin has chosen."""
    session = sign_in_by(link_of(attacker, "b"))
    session.post("/password/", {"password": PASSWORD, "again": PASSWORD})
    assert opens(session, "b")
    return session


def test_an_earlier_session_opens_no_workspace_that_the_account_joins(stolen, defender):
    add(defender, "a")

    assert not opens(stolen, "a")


def test_an_earlier_password_opens_no_workspace_that_the_account_joins(stolen, defender):
    add(defender, "a")

    assert not password_opens("a")


def test_an_earlier_link_opens_no_workspace_that_the_account_joins(attacker, defender):
    unused = link_of(attacker, "b")
    add(defender, "a")

    assert not opens(sign_in_by(unused), "a")


def test_earlier_tokens_end_when_the_account_joins_another_workspace(attacker, defender):
    Membership.objects.filter(user__email=VICTIM).update(role="admin")
    session = sign_in_by(link_of(attacker, "b"))
    form = {"token-name": "theirs", "token-role": "admin", "token-days": "30"}
    page = session.post("/w/b/settings/tokens/", form).content.decode()
    key = re.search(r'id="new-token">([^<]+)<', page)[1]
    headers = {"Authorization": f"Token {key}"}
    assert Client().get("/api/members/", headers=headers).status_code == 200
    add(defender, "a")

    assert Client().get("/api/members/", headers=headers).status_code == 401


def test_coming_back_to_a_workspace_counts_as_joining(stolen, attacker, defender):
    add(defender, "a", "somebody@example.com")
    remove(attacker, "b")
    add(attacker, "b")

    assert not opens(stolen, "b")


def test_another_role_in_the_same_workspace_ends_nothing(stolen, attacker):
    add(attacker, "b", role="viewer")

    assert opens(stolen, "b")


def test_the_admin_sees_which_credentials_joining_has_ended(stolen, attacker, defender):
    link_of(attacker, "b")
    page = add(defender, "a")

    assert "Adding it here revoked the password, all sessions and 1 unused login link" in page
    assert f"flow user link {VICTIM}" in page


def test_nothing_is_said_of_an_account_that_had_nothing(defender):
    assert "Adding it here revoked" not in add(defender, "a", "new@example.com")


def test_the_api_reports_what_joining_has_ended(stolen, defender):
    body = {"email": VICTIM, "role": "viewer"}
    headers = {"X-Flow-Workspace": "a"}
    added = defender.post("/api/members/", body, content_type="application/json", headers=headers).json()

    assert added["endedCredentials"] == {"password": True, "sessions": True, "links": 0, "tokens": 0}


def test_the_person_is_informed_once_at_the_next_sign_in(stolen, defender):
    add(defender, "a")
    person = Client()
    first = person.post(server_link(), follow=True).content.decode()
    second = person.post(server_link(), follow=True).content.decode()

    assert "when you were added to workspace a" in first
    assert "the password and all sessions" in first
    assert "you were added" not in second


@pytest.fixture
def owner(attacker) -> Client:
    """The user, signed in with a link of the server and a password that nobody else knows."""
    session = sign_in_by(server_link())
    session.post("/password/", {"password": PASSWORD, "again": PASSWORD})
    return session


def test_an_account_under_sole_control_loses_nothing_however_often_others_add_it(owner, defender):
    for _ in range(3):
        page = add(defender, "a")
        assert "Adding it here revoked" not in page
        remove(defender, "a")
    add(defender, "a")

    assert opens(owner, "a")
    assert password_opens("a")


def test_a_link_of_the_server_ends_what_others_had(stolen, attacker):
    unused = link_of(attacker, "b")
    sign_in_by(server_link())

    assert not opens(stolen, "b")
    assert not password_opens("b")
    assert not opens(sign_in_by(unused), "b")


def test_a_first_sign_in_reports_no_other_link_of_the_server(defender):
    add(defender, "a")
    server_link()
    page = Client().post(server_link(), follow=True).content.decode()

    assert "Others may have had access" not in page


def test_an_unused_link_of_the_server_outlasts_joining(attacker, defender):
    path = server_link()
    add(defender, "a")

    assert opens(sign_in_by(path), "a")


def test_an_unused_link_of_an_admin_ends_no_credentials(owner, attacker, defender):
    unused = link_of(attacker, "b")
    add(defender, "a")

    assert opens(owner, "a")
    assert not opens(sign_in_by(unused), "a")


def test_sole_control_ends_when_a_link_of_an_admin_signs_in(owner, attacker, defender):
    stolen = sign_in_by(link_of(attacker, "b"))
    add(defender, "a")

    assert not opens(stolen, "a")
    assert not opens(owner, "a")


@pytest.mark.parametrize("how", ["removed", "demoted"])
def test_links_of_an_admin_end_with_the_role(how):
    boss, leaver = admin_of("a"), admin_of_too("a", "leaver@example.com")
    add(boss, "a")
    path = link_of(leaver, "a")
    if how == "removed":
        remove(boss, "a", "leaver@example.com")
    else:
        add(boss, "a", "leaver@example.com", "viewer")

    assert not opens(sign_in_by(path), "a")


def test_links_of_a_deactivated_admin_do_not_work(attacker):
    path = link_of(attacker, "b")
    User.objects.filter(email="admin-of-b@example.com").update(is_active=False)

    assert not opens(sign_in_by(path), "b")


def admin_of_too(slug: str, email: str) -> Client:
    client = Client()
    client.force_login(add_member(ensure_workspace(slug), email, "admin").user, backend=SIGN_IN)
    return client


def test_a_new_workspace_opens_to_the_session_that_made_it_and_to_no_other(settings):
    maker = add_member(ensure_workspace(settings.FLOW_WORKSPACE), "olga@example.com", "admin").user
    here, there = Client(), Client()
    for client in (here, there):
        client.force_login(maker, backend=SIGN_IN)
    page = here.post("/workspaces/", {"slug": "sales"}, follow=True).content.decode()

    assert opens(here, "sales")
    assert not opens(there, "sales")
    assert "all sessions ended, except this session" in page


def test_a_request_that_was_signed_in_when_it_began_sets_no_password_afterwards(stolen, defender):
    as_it_was = User.objects.get(email=VICTIM)
    add(defender, "a")

    with pytest.raises(AccountError) as caught:
        set_password(as_it_was, "another long one")
    assert caught.value.code == "account.signed_out"


def test_a_request_that_was_signed_in_when_it_began_makes_no_token_afterwards(stolen, defender):
    as_it_was = User.objects.get(email=VICTIM)
    add(defender, "a")

    with pytest.raises(AccountError) as caught:
        add_token(ensure_workspace("b"), "late", "viewer", days=1, created_by=as_it_was)
    assert caught.value.code == "account.signed_out"


def test_a_stronger_hash_brings_no_ended_password_back(stolen, defender, settings):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.ScryptPasswordHasher", *settings.PASSWORD_HASHERS]
    as_it_was = User.objects.get(email=VICTIM)
    add(defender, "a")

    assert as_it_was.check_password(PASSWORD)
    assert not User.objects.get(email=VICTIM).has_usable_password()
