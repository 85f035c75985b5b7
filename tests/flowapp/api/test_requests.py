"""Behaviour that all API routes share: authentication, workspace and errors."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from flowapp.accounts.models import Token
from flowapp.accounts.services import add_token, ensure_workspace
from tests.flowapp.web.routes import all_routes
from tests.flowapp.web.samples import PUBLIC

pytestmark = pytest.mark.django_db

MEMBERS = "/api/members/"


@pytest.fixture
def key(workspace):
    return add_token(workspace, "reader", "viewer", days=1)[0]


def with_key(key: str) -> dict[str, str]:
    return {"Authorization": f"Token {key}"}


def test_a_token_opens_its_own_workspace_whatever_the_request_names(client, key):
    ensure_workspace("bobs-team")
    answer = client.get(MEMBERS, {"workspace": "bobs-team"}, headers=with_key(key))

    assert answer.status_code == 200
    assert answer.wsgi_request.resolver_match.view_name == "api:members"


@pytest.mark.parametrize("header", ["Token nonsense", "Token", "Token a b", "Bearer x"])
def test_what_is_no_token_is_answered_401_with_the_way_to_ask(client, workspace, header):
    answer = client.get(MEMBERS, headers={"Authorization": header})

    assert answer.status_code == 401
    assert answer["WWW-Authenticate"] == "Token"
    assert "Authorization: Token KEY" in answer.json()["hint"]


def test_an_expired_token_opens_nothing(client, key):
    Token.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    assert client.get(MEMBERS, headers=with_key(key)).json()["code"] == "token.invalid"


def test_a_session_names_its_workspace_by_header_or_parameter(as_):
    client = as_("viewer")

    assert client.get(MEMBERS, headers={"X-Flow-Workspace": "alices-team"}).status_code == 200
    assert client.get(MEMBERS, {"workspace": "alices-team"}).status_code == 200


def test_a_session_that_names_no_workspace_is_reported_how(as_):
    answer = as_("viewer").get(MEMBERS)

    assert answer.status_code == 400
    assert answer.json()["code"] == "workspace.not_named"
    assert "X-Flow-Workspace" in answer.json()["hint"]


def test_a_session_changes_nothing_without_its_csrf_token(person):
    client = Client(enforce_csrf_checks=True)
    client.force_login(person("admin"), backend="django.contrib.auth.backends.ModelBackend")
    answer = client.post(
        f"{MEMBERS}?workspace=alices-team", {"email": "c@example.com", "role": "viewer"}, "application/json"
    )

    assert answer.status_code == 403


def test_too_low_a_role_is_a_problem_that_names_the_role(client, key):
    answer = client.post(MEMBERS, {}, "application/json", headers=with_key(key))
    problem = answer.json()

    assert answer.status_code == problem["status"] == 403
    assert answer["Content-Type"] == "application/problem+json"
    assert problem["code"] == "role.too_low"
    assert (problem["type"], problem["title"]) == ("/docs/errors/#roletoo_low", "The role does not allow this.")
    assert "need the role admin" in problem["detail"]


def test_what_is_no_json_is_a_problem(client, workspace):
    key, _ = add_token(workspace, "admin", "admin", days=1)
    answer = client.post(MEMBERS, "{nonsense", "application/json", headers=with_key(key))

    assert answer.status_code == 400
    assert answer["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize("path", ["/api/nowhere/", "/api/pipelines/a b/"])
def test_an_unknown_address_is_a_problem_too(client, path):
    answer = client.get(path)

    assert answer.status_code == 404
    assert answer["Content-Type"] == "application/problem+json"


def test_a_fault_of_our_own_is_a_problem_with_an_id_and_nothing_of_the_fault(client, key, monkeypatch, caplog):
    def fail(*args):
        raise RuntimeError("secretword")

    monkeypatch.setattr("flowapp.accounts.api.list_members", fail)
    client.raise_request_exception = False
    answer = client.get(MEMBERS, headers=with_key(key))

    assert answer.status_code == 500
    assert answer.json()["id"] in caplog.text
    assert "secretword" not in answer.content.decode()


def test_lists_are_paged_by_cursor(client, workspace, person):
    key, _ = add_token(workspace, "reader", "viewer", days=1)
    for role in ("viewer", "editor", "admin"):
        person(role)
    seen, url = [], f"{MEMBERS}?limit=2"
    while url:
        page = client.get(url, headers=with_key(key)).json()
        seen += [member["email"] for member in page["results"]]
        url = page["next"]

    assert seen == ["admin@example.com", "editor@example.com", "viewer@example.com"]


@pytest.mark.parametrize("kind", ["json", "yaml"])
def test_the_openapi_document_is_sent_again_only_when_it_differs(client, kind):
    first = client.get("/api/schema/", {"format": kind})
    again = client.get("/api/schema/", {"format": kind}, headers={"If-None-Match": first.headers["ETag"]})
    other = client.get("/api/schema/", {"format": kind}, headers={"If-None-Match": '"other"'})

    assert first.headers["Content-Type"].startswith("application/vnd.oai.openapi")
    assert (again.status_code, again.content) == (304, b"")
    assert other.content == first.content


def test_the_openapi_document_describes_every_route(client):
    """Django's own views, such as the health check's, are no part of it."""
    answer = client.get("/api/schema/", {"format": "json"})
    described = {re.sub(r"\{\w+\}", "{}", path) for path in answer.json()["paths"]}
    routes = [r for r in all_routes() if r.is_api and hasattr(r.view, "cls") and r.name not in PUBLIC]

    assert {re.sub(r"<[^>]+>", "{}", route.pattern) for route in routes} <= described
