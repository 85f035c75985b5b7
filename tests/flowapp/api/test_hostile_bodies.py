"""Bodies and parameters that were made up to break something are answered with 400 and a problem."""

from __future__ import annotations

import json

import pytest

from flowapp.accounts.services import add_token
from flowapp.connections.fields import ConnectionFields
from tests.flowapp.web.fuzzing import Heard, cursor, declared
from tests.flowapp.web.routes import all_routes
from tests.flowapp.web.test_access import API, allowed
from tests.flowapp.web.things import make_things

pytestmark = pytest.mark.django_db

BODY_ROUTES = [(route, method) for route in API for method in allowed(route) if method in ("post", "put", "patch")]


@pytest.fixture
def things(workspace, person):
    fields = ConnectionFields("postgres", "127.0.0.1", 1, "d", "u", "secretword")
    return {**make_things(workspace, person, fields), "workspace": workspace.slug}


@pytest.fixture
def ask(client, workspace):
    """Send requests like a program with an admin's token."""
    key, _ = add_token(workspace, "writer", "admin", days=1)
    headers = {"Authorization": f"Token {key}", "If-Match": '"1"'}

    def send(method, url, data="", **more):
        return getattr(client, method)(url, data, headers=headers, **more)

    return send


def is_problem(answer, status=400):
    assert answer.status_code == status, answer.content[:300]
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["detail"]
    return True


DEEP = {"open": "[" * 100_000, "objects": '{"a":' * 50_000, "closed": "[" * 300 + "]" * 300}


@pytest.mark.parametrize("body", DEEP.values(), ids=DEEP.keys())
def test_a_body_of_deep_nesting_is_a_problem_on_every_route_that_takes_one(ask, things, body):
    for route, method in BODY_ROUTES:
        answer = ask(method, route.url_of(things), body, content_type="application/json")
        assert answer.status_code in (400, 415), route.name  # uploads are forms
        assert is_problem(answer, answer.status_code)


CURSORS = (
    "p=%00",
    "p=" + "9" * 300,
    "o=x",
    "r=x",
    '["f",1]',
    '{"a":1e999}',
    "[" * 5_000,
    "\xff",
    "é",
)
AS_NAMES = ("p=abc", "p=9999-12-31")
"""Are places in lists that are ordered by a name, and in no other."""


def test_a_cursor_that_no_page_gave_is_a_problem_on_every_list(ask, things):
    heard = Heard()
    declared(heard, all_routes())
    lists = [route for route in API if "cursor" in heard.of(route, "query")]
    assert len(lists) > 4
    for route in lists:
        for text in (*CURSORS, *AS_NAMES):
            answer = ask("get", route.url_of(things), {"cursor": cursor(text)})
            assert (text in AS_NAMES and answer.status_code == 200) or is_problem(answer), (route.name, text)


@pytest.mark.parametrize("day", ["9999-12-31", "0001-01-01"])
def test_the_first_and_the_last_day_are_days(as_, ask, things, day):
    assert ask("get", "/api/errors/", {"day": day}).status_code in (200, 503)
    assert as_("admin").get("/w/alices-team/errors/rows/", {"day": day}).status_code in (200, 503)


@pytest.mark.parametrize("name", ["evil.example", "[", "a b"])
def test_an_unknown_host_is_a_bad_request(client, workspace, name):
    assert is_problem(client.get("/api/members/", headers={"Host": name}))
    answer = client.get("/w/alices-team/pipelines/", headers={"Host": name})
    assert answer.status_code == 400
    assert "The request is invalid" in answer.content.decode()


def test_half_a_character_in_a_body_is_a_problem(ask, things):
    body = json.dumps({"email": "a@example.com", "role": "\ud800"})
    assert is_problem(ask("post", "/api/members/", body, content_type="application/json"))


def test_a_draft_with_an_unknown_expression_can_be_opened(as_, ask, things):
    """Such a draft must not break its page."""
    ops = [{"op": "filter", "where": "CAST(x AS DECIMAL(MAX)) > 1"}]
    nodes = [{"id": "x", "kind": "transform", "inputs": ["s"], "ops": ops}]
    text = json.dumps({"kind": "pipeline", "version": "1.0", "id": "numbers", "nodes": nodes})
    client = as_("admin")
    changed = client.put(
        "/api/pipelines/numbers/draft/?workspace=alices-team", json.dumps({"text": text}), "application/json"
    )
    assert changed.status_code == 200
    assert "expression.not_allowed" in {d["code"] for d in changed.json()["diagnostics"]}
    for tab in ("visual", "json", "sql", "lineage", "schedule"):
        assert client.get("/w/alices-team/pipelines/numbers/", {"tab": tab}).status_code == 200
