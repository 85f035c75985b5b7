"""Members and tokens by the API."""

from __future__ import annotations

import pytest

from flowapp.accounts.models import Token
from flowapp.accounts.services import add_token

pytestmark = pytest.mark.django_db


@pytest.fixture
def token(workspace, person):
    """The header of an admin's token."""
    key, _ = add_token(workspace, "admins", "admin", days=1, created_by=person("admin"))
    return {"Authorization": f"Token {key}"}


def post(client, url, body, headers):
    return client.post(url, body, content_type="application/json", headers=headers)


def test_members_are_listed_and_added(client, token):
    added = post(client, "/api/members/", {"email": "carol@example.com", "role": "editor"}, token)
    listed = client.get("/api/members/", headers=token).json()["results"]

    assert added.status_code == 201
    assert {(m["email"], m["role"]) for m in listed} == {
        ("admin@example.com", "admin"),
        ("carol@example.com", "editor"),
    }


def test_an_unknown_role_is_refused_at_its_field(client, token):
    answer = post(client, "/api/members/", {"email": "carol@example.com", "role": "owner"}, token)

    assert answer.status_code == 400
    assert set(answer.json()["fields"]) == {"role"}


def test_a_new_token_works_and_its_key_is_reported_once(client, token):
    made = post(client, "/api/tokens/", {"name": "reader", "role": "viewer", "days": 3}, token).json()
    as_reader = {"Authorization": f"Token {made['token']}"}

    assert client.get("/api/members/", headers=as_reader).status_code == 200
    assert "token" not in client.get("/api/tokens/", headers=token).json()["results"][0]


@pytest.mark.parametrize("which", ["?name=reader", "{pk}/"])
def test_a_token_is_revoked_by_name_or_id(client, token, workspace, which):
    _, reader = add_token(workspace, "reader", "viewer", days=1)

    assert client.delete("/api/tokens/" + which.format(pk=reader.pk), headers=token).status_code == 204
    assert not Token.objects.filter(name="reader").exists()


def test_tokens_of_others_are_out_of_reach(client, token, person):
    from flowapp.accounts.services import ensure_workspace

    _, other = add_token(ensure_workspace("bobs-team"), "reader", "viewer", days=1)

    assert client.delete(f"/api/tokens/{other.pk}/", headers=token).status_code == 404
    assert client.delete("/api/tokens/?name=reader", headers=token).status_code == 404
    assert Token.objects.filter(pk=other.pk).exists()
