"""Access rights of every route."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import urlencode

import pytest

from tests.flowapp.web.routes import Route, all_routes
from tests.flowapp.web.samples import OUTSIDE, PUBLIC

pytestmark = pytest.mark.django_db

SELECT = "/w/alices-team/errors/rows/select/"
METHODS = ("get", "post", "put", "patch", "delete")
ROUTES = all_routes()
PAGES = [route for route in ROUTES if "workspace" in route.arguments]
API = [route for route in ROUTES if route.is_api and route.name not in PUBLIC]


def every(routes):
    return pytest.mark.parametrize("route", routes, ids=lambda route: route.name)


def ask(client, route: Route, method: str, **headers: str):
    data = {} if method == "get" else "{}" if route.is_api else {}
    kind = {"content_type": "application/json"} if route.is_api and method != "get" else {}
    return getattr(client, method)(route.url("alices-team"), data, headers=headers, **kind)


def allowed(route: Route) -> list[str]:
    """The methods that a route takes, as its class or its actions say."""
    actions = getattr(route.view, "actions", None)
    return [m for m in METHODS if (m in actions if actions else hasattr(route.view.view_class, m))]


def test_every_address_is_a_page_of_a_workspace_or_of_the_api_or_named_here():
    """No test would cover a page outside of these."""
    covered = {route.name for route in (*PAGES, *API)} | PUBLIC | OUTSIDE
    assert {route.name for route in ROUTES} == covered


def test_names_are_unique():
    names = [route.name for route in ROUTES]
    assert len(names) == len(set(names))


@every(PAGES)
def test_a_stranger_learns_that_no_page_is_there(workspace, as_, route):
    client = as_("stranger")
    statuses = {method: ask(client, route, method).status_code for method in METHODS}
    assert set(statuses.values()) <= {HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED}, statuses
    assert HTTPStatus.NOT_FOUND in statuses.values()


@every(PAGES)
def test_nobody_is_sent_to_the_login(workspace, as_, route):
    client = as_("anonymous")
    answers = [ask(client, route, method) for method in METHODS]
    taken = [answer for answer in answers if answer.status_code != HTTPStatus.METHOD_NOT_ALLOWED]
    assert taken
    for answer in taken:
        assert answer.status_code == HTTPStatus.FOUND
        assert answer["Location"].startswith("/login/?next=")


@every(API)
def test_a_stranger_learns_that_no_route_is_there(workspace, as_, route):
    client = as_("stranger")
    assert allowed(route)
    for method in allowed(route):
        answer = ask(client, route, method, **{"X-Flow-Workspace": "alices-team"})
        assert answer.status_code == HTTPStatus.NOT_FOUND, method
        assert answer["Content-Type"] == "application/problem+json"


@every(API)
def test_no_credentials_are_requested(workspace, client, route):
    for method in allowed(route):
        answer = ask(client, route, method, **{"X-Flow-Workspace": "alices-team"})
        assert answer.status_code == HTTPStatus.UNAUTHORIZED, method
        assert answer["WWW-Authenticate"] == "Token"


@every(API)
def test_a_viewer_changes_nothing_by_the_api(workspace, as_, route):
    client = as_("viewer")
    for method in set(allowed(route)) - {"get"}:
        answer = ask(client, route, method, **{"X-Flow-Workspace": "alices-team"})
        assert answer.status_code == HTTPStatus.FORBIDDEN or route.name in VIEWERS_MAY, method


VIEWERS_MAY = {"api:validate"}
"""POST routes that change nothing."""


@pytest.mark.parametrize("name", sorted(OUTSIDE))
def test_nobody_is_sent_to_the_login_from_what_is_in_no_workspace(client, name):
    [route] = [route for route in ROUTES if route.name == name]
    assert client.get(route.url("")).status_code == HTTPStatus.FOUND


def test_a_fragment_without_a_session_redirects_the_whole_page_to_the_login(workspace, client):
    headers = {"HX-Request": "true", "HX-Current-URL": "http://testserver/w/alices-team/files/?state=new"}
    answer = client.get("/w/alices-team/runs/", headers=headers)

    assert answer.status_code == HTTPStatus.OK
    assert answer["HX-Redirect"] == "/login/?next=%2Fw%2Falices-team%2Ffiles%2F%3Fstate%3Dnew"


@pytest.mark.parametrize(
    ("came_from", "back"),
    [
        ("http://testserver/w/alices-team/health/?day=1", "/w/alices-team/health/?day=1"),
        ("https://elsewhere.example/", SELECT),
    ],
)
def test_after_the_login_the_page_of_a_form_is_shown_and_not_its_post_address(workspace, client, came_from, back):
    answer = client.post(SELECT, headers={"Referer": came_from})
    assert answer["Location"] == f"/login/?{urlencode({'next': back})}"


def test_who_was_shut_out_is_a_stranger(workspace, as_):
    from flowapp.accounts.models import User

    client = as_("admin")
    User.objects.update(is_active=False)

    assert client.get("/w/alices-team/settings/").status_code == HTTPStatus.FOUND
