"""Knowing the id of another workspace's thing opens nothing, and no session changes anything without its CSRF token."""

from __future__ import annotations

from http import HTTPStatus

import pytest
from django.test import Client

from flowapp.accounts.models import Membership, Token
from flowapp.alerts.models import Alert
from flowapp.backups.models import Backup
from flowapp.channels.models import Channel, Delivery
from flowapp.connections.fields import ConnectionFields
from flowapp.connections.models import Connection
from flowapp.manifests.models import Proposal
from flowapp.modules.models import CustomModule
from flowapp.pipelines.models import Pipeline, PipelineVersion
from flowapp.quarantine.models import RowDecision, Selection
from flowapp.runs.load_units.models import LoadUnit
from flowapp.runs.models import Run
from flowapp.triggers.models import EventTrigger
from flowapp.uploads.models import Upload
from flowapp.watermarks.models import WatermarkCopy
from tests.flowapp.web.routes import Route, all_routes
from tests.flowapp.web.samples import BY_CONVERTER
from tests.flowapp.web.test_access import API, METHODS, PAGES, allowed
from tests.flowapp.web.things import make_things

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_url")]

OF_NOBODY = {"workspace", "channel_kind", "store_kind"}
"""Names of arguments that name no thing of a workspace."""
WITH_AN_ID = [route for route in (*PAGES, *API) if set(route.arguments) - OF_NOBODY]
MAKES_IT_HERE = {"api:ir"}
"""Puts a document under an id that this workspace has not: it becomes a pipeline of this one."""
BODIES: dict[str, object] = {"api:restore": '{"version": 1}', "pipelines:fix": {"patch": "[]"}}
"""Bodies that are validated before the object is looked up."""
OWNED = (
    Pipeline,
    PipelineVersion,
    Run,
    LoadUnit,
    Alert,
    Connection,
    Token,
    Membership,
    WatermarkCopy,
    Backup,
    Channel,
    Selection,
    RowDecision,
    Upload,
    Proposal,
    EventTrigger,
    CustomModule,
)


@pytest.fixture
def ids(workspace, person):
    """One thing of each kind, of alice's team, by the names that addresses have for them."""
    return make_things(workspace, person, ConnectionFields("postgres", "127.0.0.1", 1, "d", "u", "secretword"))


def ask(client: Client, route: Route, method: str, url: str, **headers: str):
    data = {} if method == "get" else BODIES.get(route.name, "{}" if route.is_api else {})
    kind = {"content_type": "application/json"} if route.is_api and method != "get" else {}
    if not route.is_api and method not in ("get", "post"):
        data = ""
    return getattr(client, method)(url, data, headers=headers, **kind)


def owned(workspace) -> list[object]:
    messages = list(Delivery.objects.filter(channel__workspace=workspace).values())
    return [messages, *(list(kind.objects.filter(workspace=workspace).order_by("pk").values()) for kind in OWNED)]


def test_every_id_in_an_address_has_a_thing_here(ids):
    """No test would cover a new kind of object that is not in `ids`."""
    assert {name for route in WITH_AN_ID for name in route.arguments} - {"workspace"} <= set(ids)


def by_app(routes: list[Route]) -> pytest.MarkDecorator:
    """One case for the routes of each app: to make the things of a workspace takes longer than to ask a route."""
    apps = {route.name.split(":")[0]: [] for route in routes}
    for route in routes:
        apps[route.name.split(":")[0]].append(route)
    return pytest.mark.parametrize("routes", apps.values(), ids=apps)


@by_app(WITH_AN_ID)
def test_a_thing_of_others_is_not_there_in_ones_own_workspace(workspace, ids, as_, routes):
    client, before = as_("stranger"), owned(workspace)
    for route in routes:
        url = route.url_of({**ids, "workspace": "bobs-team"})
        for method in allowed(route) if route.is_api else METHODS:
            answer = ask(client, route, method, url, **{"X-Flow-Workspace": "bobs-team"})
            assert answer.status_code in (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED) or (
                route.name in MAKES_IT_HERE and method == "put"
            ), (route.name, method)
            assert "secretword" not in answer.content.decode(), (route.name, method)
    assert owned(workspace) == before


@by_app(PAGES + API)
def test_no_session_changes_anything_without_its_csrf_token(workspace, ids, person, routes):
    client, before = Client(enforce_csrf_checks=True), owned(workspace)
    client.force_login(person("admin"), backend="django.contrib.auth.backends.ModelBackend")
    given = {**BY_CONVERTER, **ids, "workspace": "alices-team"}
    for route in routes:
        for method in set(allowed(route) if route.is_api else METHODS) - {"get"}:
            answer = ask(client, route, method, route.url_of(given), **{"X-Flow-Workspace": "alices-team"})
            assert answer.status_code in (HTTPStatus.FORBIDDEN, HTTPStatus.METHOD_NOT_ALLOWED), (route.name, method)
    assert owned(workspace) == before


def test_the_list_of_routes_is_not_empty():
    assert len(WITH_AN_ID) > 20
    assert len(all_routes()) > len(WITH_AN_ID)
