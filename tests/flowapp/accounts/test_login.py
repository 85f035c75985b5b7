"""Signing in by a link or a password, and signing out."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.utils import timezone

from flowapp.accounts.cli.up import _sign_in_line
from flowapp.accounts.models import LoginLink, User
from flowapp.accounts.services import make_first_link, make_login_link, set_password

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse battery"


@pytest.fixture
def alice(person):
    alice = person("admin")
    set_password(alice, PASSWORD)
    return alice


def link_path(user: User) -> str:
    return urlsplit(make_login_link(user.email)[0]).path


def is_signed_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def sign_in(client: Client, email: str, password: str, **more: str):
    return client.post("/login/", {"email": email, "password": password, **more})


def test_looking_at_a_link_does_not_use_it_up(client, alice):
    path = link_path(alice)

    for _ in range(3):
        assert client.get(path).status_code == 200
    assert not is_signed_in(client)
    assert client.post(path).status_code == 302
    assert is_signed_in(client)


def test_a_link_works_once(client, alice):
    path = link_path(alice)
    client.post(path)
    again = Client().post(path)

    assert again.status_code == 403
    assert "was used" in again.content.decode()


def test_an_expired_link_does_not_work(client, alice):
    path = link_path(alice)
    LoginLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    assert client.post(path).status_code == 403
    assert not is_signed_in(client)


def test_a_link_needs_the_csrf_token_of_its_page(alice):
    strict = Client(enforce_csrf_checks=True)

    assert strict.post(link_path(alice)).status_code == 403
    assert not is_signed_in(strict)


def test_after_signing_in_the_only_workspace_opens(client, alice):
    answer = client.post(link_path(alice), follow=True)

    assert answer.redirect_chain[-1][0] == "/w/alices-team/pipelines/"


def test_a_password_signs_in_whatever_the_case_of_the_address(client, alice):
    assert sign_in(client, "Admin@Example.com", PASSWORD).status_code == 302
    assert is_signed_in(client)


def test_a_wrong_password_and_an_unknown_person_are_informed_alike(client, alice):
    wrong = sign_in(client, alice.email, "wrong").content
    unknown = sign_in(client, "nobody@example.com", "wrong").content

    reported = b"Wrong email address or password."
    assert reported in wrong
    assert reported in unknown
    assert not is_signed_in(client)


def test_somebody_without_a_password_cannot_sign_in_with_an_empty_one(client, person):
    viewer = person("viewer")

    assert sign_in(client, viewer.email, "").status_code == 422
    assert sign_in(client, viewer.email, "!").status_code == 422


@pytest.mark.parametrize("outside", ["https://evil.example/", "//evil.example/", "javascript:alert(1)"])
def test_the_login_leads_nowhere_else(client, alice, outside):
    assert sign_in(client, alice.email, PASSWORD, next=outside)["Location"] == "/"


def test_the_login_returns_to_the_requested_page(client, alice):
    wanted = "/w/alices-team/runs/?state=failed"

    assert sign_in(client, alice.email, PASSWORD, next=wanted)["Location"] == wanted


def test_signing_out_takes_a_post(as_):
    client = as_("viewer")

    assert client.get("/logout/").status_code == 405
    assert is_signed_in(client)
    client.post("/logout/")
    assert not is_signed_in(client)


def test_a_new_password_keeps_this_session_and_ends_the_others(alice):
    here, there = Client(), Client()
    for client in (here, there):
        sign_in(client, alice.email, PASSWORD)
    here.post("/password/", {"password": "another long one", "again": "another long one"})

    assert here.get("/password/").status_code == 200
    assert there.get("/password/").status_code == 302


def test_a_new_password_ends_unused_links(client, alice):
    path = link_path(alice)
    set_password(alice, "another long one")

    assert client.post(path).status_code == 403


@pytest.mark.parametrize(
    ("password", "again", "reported"),
    [("short", "short", "too short"), ("password1234", "password1234", "too common"), (PASSWORD, "other", "differ")],
)
def test_a_password_that_will_not_do_says_why(as_, password, again, reported):
    client = as_("viewer")
    answer = client.post("/password/", {"password": password, "again": again})

    assert answer.status_code == 422
    assert reported in answer.content.decode()


def test_the_first_link_makes_an_admin_and_ends_with_the_first_sign_in(client, workspace):
    link = make_first_link(workspace)
    assert make_first_link(workspace) is not None
    client.post(urlsplit(link).path)

    assert client.get("/w/alices-team/settings/").context["role"] == "admin"
    assert make_first_link(workspace) is None


def test_flow_up_prints_a_link_once_and_then_the_command_that_makes_one(client, workspace, person, settings):
    settings.FLOW_WORKSPACE = workspace.slug
    admin = person("admin")
    assert "http://flow:8000/login/" in _sign_in_line()("http://flow:8000")
    client.post(urlsplit(make_login_link(admin.email)[0]).path)

    line = _sign_in_line()("http://flow:8000")
    assert line == f"Sign in there. For a new link: flow user link {admin.email}"


def test_the_first_link_is_for_the_admin_there_is(workspace, person):
    person("viewer")
    admin = person("admin")
    make_first_link(workspace)

    assert LoginLink.objects.get().user == admin
