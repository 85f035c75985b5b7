"""Only admins may add SQL hooks to a version, in every way of saving one."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from flowapp.accounts.services import add_token
from flowapp.connections.fields import ConnectionFields
from flowapp.connections.services import add_connection
from flowapp.pipelines.drafts import open_draft, replace_text
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.services import restore_version, save_version
from flowapp.runs.cli.pipeline import save_file
from ir.errors import FlowError

pytestmark = pytest.mark.django_db
SQL = {"type": "sql", "statement": "ANALYZE numbers"}
OTHER = {"type": "sql", "statement": "VACUUM numbers"}
VIEW = {"type": "refresh_mat_view", "view": "public.totals"}


@pytest.fixture
def hooked(document) -> Callable[..., dict[str, Any]]:
    """The small pipeline with these fields on its target."""

    def make(**target: Any) -> dict[str, Any]:
        made = document()
        made["nodes"][1] |= target
        return made

    return make


@pytest.fixture
def save_as(connected) -> Callable[..., Any]:
    return lambda made, role: save_version(connected, json.dumps(made), role=role)


def refused(save: Callable[[], Any]) -> bool:
    with pytest.raises(FlowError) as caught:
        save()
    return caught.value.code == "hook.needs_admin"


@pytest.mark.parametrize("stage", ["preHook", "postHook"])
def test_an_editor_adds_no_sql_hook_and_an_admin_does(stage, hooked, save_as):
    made = hooked(**{stage: [VIEW, SQL]})
    assert refused(lambda: save_as(made, "editor"))
    assert save_as(made, "admin").number == 1


@pytest.mark.parametrize(
    "change",
    [
        {"postHook": OTHER},
        {"postHook": [SQL, OTHER]},
        {"preHook": SQL, "postHook": []},
        {"postHook": SQL, "id": "elsewhere"},
        {"postHook": SQL, "schema": "other"},
        {"postHook": SQL, "connection": "second"},
    ],
    ids=["statement", "one more", "stage", "node", "schema", "connection"],
)
def test_an_editor_changes_nothing_of_what_an_sql_hook_does(change, hooked, save_as, connected, warehouse):
    w = warehouse
    add_connection(connected, "second", ConnectionFields("postgres", w.host, w.port, w.database, w.user, w.password))
    save_as(hooked(postHook=SQL), "admin")
    assert refused(lambda: save_as(hooked(**change), "editor"))


@pytest.mark.parametrize(
    "change",
    [
        {"postHook": SQL, "name": "Renamed"},
        {"postHook": [SQL]},
        {"postHook": [VIEW, SQL]},
        {"postHook": []},
        {"postHook": SQL, "loadMode": "truncate"},
    ],
    ids=["name", "list", "another hook before it", "removed", "load mode"],
)
def test_an_editor_may_change_all_else_and_take_a_hook_out(change, hooked, save_as):
    save_as(hooked(postHook=SQL), "admin")
    assert save_as(hooked(**change), "editor").number == 2


def test_an_editor_restores_no_version_that_brings_an_sql_hook_back(hooked, save_as, pipeline):
    save_as(hooked(postHook=SQL), "admin")
    save_as(hooked(), "editor")
    assert refused(lambda: restore_version(pipeline, 2, role="editor"))
    assert restore_version(pipeline, 2, role="admin").number == 4


def test_a_caller_without_the_admin_flag_is_no_admin(hooked, connected):
    assert refused(lambda: save_version(connected, json.dumps(hooked(postHook=SQL))))


# --- the ways to save ---------------------------------------------------------------------------------------------


def put(web: Client, pipeline: Pipeline, made: dict[str, Any]) -> int:
    url = f"/api/pipelines/{pipeline.slug}/ir/"
    return web.put(url, json.dumps(made), "application/json", headers={"If-Match": '"1"'}).status_code


def post(web: Client, pipeline: Pipeline, made: dict[str, Any]) -> int:
    body = json.dumps({"document": made | {"id": "another"}})
    return web.post("/api/pipelines/", body, "application/json").status_code


def save_draft_by_api(web: Client, pipeline: Pipeline, made: dict[str, Any]) -> int:
    replace_text(open_draft(pipeline, web.user), json.dumps(made))
    return web.post(f"/api/pipelines/{pipeline.slug}/draft/save/", "{}", "application/json").status_code


def save_draft_by_page(web: Client, pipeline: Pipeline, made: dict[str, Any]) -> int:
    replace_text(open_draft(pipeline, web.user), json.dumps(made))
    return web.post(f"/w/alices-team/pipelines/{pipeline.slug}/save/", headers={"HX-Request": "true"}).status_code


@pytest.mark.parametrize("way", [put, post, save_draft_by_api, save_draft_by_page])
@pytest.mark.parametrize("role", ["editor", "admin"])
def test_every_way_to_save_asks_for_the_role(way, role, hooked, pipeline, person, sign_in):
    user = person(role)
    web = sign_in(user)
    web.user = user
    status = way(web, pipeline, hooked(postHook=SQL))
    assert status == 403 if role == "editor" else status < 300
    assert Pipeline.objects.filter(slug="another").exists() == (way is post and role == "admin")


@pytest.mark.parametrize("role", ["editor", "admin"])
def test_the_role_of_a_token_counts_and_not_that_of_its_creator(role, hooked, pipeline, person, client):
    key, _ = add_token(pipeline.workspace, "ci", role, days=1, created_by=person("admin"))
    headers = {"Authorization": f"Token {key}", "If-Match": '"1"'}
    answer = client.put(
        f"/api/pipelines/{pipeline.slug}/ir/", json.dumps(hooked(postHook=SQL)), "application/json", headers=headers
    )
    assert answer.status_code == (403 if role == "editor" else 200)


def test_commands_on_the_server_have_the_role_of_an_operator(hooked, connected, tmp_path, settings):
    settings.FLOW_WORKSPACE = connected.slug
    path = tmp_path / "numbers.json"
    path.write_text(json.dumps(hooked(postHook=SQL)))
    assert save_file(str(path)).number == 1
