"""Members, roles and tokens, on the Settings page."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from flowapp.accounts.models import Membership, Token, User
from flowapp.accounts.selectors import get_token, list_memberships
from flowapp.accounts.services import add_member, add_token
from tests.flowapp.reading import words

pytestmark = pytest.mark.django_db

PAGE = "/w/alices-team/settings/"


@pytest.fixture
def admin(as_):
    return as_("admin")


def text_of(answer, element_id: str) -> str:
    return re.search(rf'id="{element_id}">([^<]+)<', answer.content.decode())[1]


def member(email: str) -> Membership:
    return Membership.objects.get(user__email=email, workspace__slug="alices-team")


def test_viewers_see_members_and_no_tokens(as_, workspace):
    add_token(workspace, "nightly", "editor", days=1)
    page = as_("viewer").get(PAGE).content.decode()

    assert "viewer@example.com" in page
    assert "nightly" not in page
    assert "Add member" not in page


@pytest.mark.parametrize("path", ["members/", "members/1/remove/", "members/1/link/", "tokens/"])
@pytest.mark.parametrize("role", ["viewer", "editor"])
def test_only_admins_change_anything(as_, role, path):
    answer = as_(role).post(PAGE + path, {"member-email": "x@example.com", "member-role": "admin"})

    assert answer.status_code == 403
    assert "need the role admin" in answer.content.decode()
    assert not User.objects.filter(email="x@example.com").exists()


def test_an_admin_adds_a_member(admin, workspace):
    admin.post(f"{PAGE}members/", {"member-email": "carol@example.com", "member-role": "editor"})

    [carols] = list_memberships(User.objects.get(email="carol@example.com"))
    assert (carols.workspace, carols.role) == (workspace, "editor")


def test_a_wrong_address_stays_in_the_form_with_its_message(admin):
    answer = admin.post(f"{PAGE}members/", {"member-email": "carol", "member-role": "editor"})

    assert answer.status_code == 422
    assert 'value="carol"' in answer.content.decode()


def test_the_last_admin_stays_admin(admin, person):
    person("viewer")
    demoted = admin.post(f"{PAGE}members/", {"member-email": "admin@example.com", "member-role": "viewer"})
    removed = admin.post(f"{PAGE}members/{member('admin@example.com').pk}/remove/")

    assert demoted.status_code == removed.status_code == 422
    assert member("admin@example.com").role == "admin"


def test_a_removed_member_is_a_stranger_at_once(admin, as_):
    viewer = as_("viewer")
    admin.post(f"{PAGE}members/{member('viewer@example.com').pk}/remove/")

    assert viewer.get(PAGE).status_code == 404


def test_members_of_others_are_out_of_reach(admin, person):
    stranger = Membership.objects.get(user=person("stranger"))

    assert admin.post(f"{PAGE}members/{stranger.pk}/remove/").status_code == 404
    assert Membership.objects.filter(pk=stranger.pk).exists()


def test_a_login_link_is_shown_once_and_signs_the_member_in(admin, person, client):
    person("viewer")
    url = text_of(admin.post(f"{PAGE}members/{member('viewer@example.com').pk}/link/"), "new-link")
    client.post(urlsplit(url).path)

    assert client.get(PAGE).context["role"] == "viewer"
    assert url not in admin.get(PAGE).content.decode()


def test_no_link_for_members_of_a_workspace_of_other_admins(admin, workspace, person):
    """It would open that workspace to this one's admin."""
    add_member(workspace, person("stranger").email, "viewer")
    answer = admin.post(f"{PAGE}members/{member('stranger@example.com').pk}/link/")

    assert answer.status_code == 422
    assert "new-link" not in answer.content.decode()


def test_a_token_is_shown_once_and_only_its_hash_is_stored(admin):
    answer = admin.post(f"{PAGE}tokens/", {"token-name": "nightly", "token-role": "editor", "token-days": "30"})
    key = text_of(answer, "new-token")

    assert get_token(key).name == "nightly"
    assert "no-store" in answer["Cache-Control"]
    assert key not in admin.get(PAGE).content.decode()
    assert key not in str(list(Token.objects.values()))


def test_a_name_that_is_taken_is_reported_at_its_field(admin, workspace):
    add_token(workspace, "nightly", "editor", days=1)
    answer = admin.post(f"{PAGE}tokens/", {"token-name": "nightly", "token-role": "editor", "token-days": "30"})

    assert answer.status_code == 422
    assert "is already a token named" in answer.content.decode()


def test_a_revoked_token_opens_nothing(admin, workspace):
    key, token = add_token(workspace, "nightly", "editor", days=1)
    admin.post(f"{PAGE}tokens/{token.pk}/revoke/")

    assert get_token(key) is None


def test_the_page_costs_the_same_with_many_members(admin, workspace):
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            admin.get(PAGE)
        return len(captured)

    before = queries()
    for number in range(20):
        add_member(workspace, f"m{number}@example.com", "viewer")
        add_token(workspace, f"t{number}", "viewer", days=1)
    assert queries() == before


def test_the_page_lists_retention_periods(as_):
    text = words(as_("viewer").get(PAGE))

    assert "Runs that loaded rows, with numbers, versions and files forever" in text
    assert "Resolved alerts 90 days" in text
