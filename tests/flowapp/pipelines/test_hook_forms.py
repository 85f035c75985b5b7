"""Hooks in the editor's form: each kind can be added and filled in."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.urls import reverse

from flowapp.connections.services import add_connection
from flowapp.connections.webhook_fields import WebhookFields
from flowapp.pipelines.drafts import open_draft
from ir.hooks import HOOKS

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}
FILLED: dict[str, dict[str, str]] = {
    "sql": {"statement": "ANALYZE numbers"},
    "refresh_mat_view": {"view": "public.totals"},
    "webhook": {"connection": "pager", "path": "/loaded"},
    "custom_function": {"function": "flow-test.note", "args": '{"into": "x"}'},
}


@pytest.fixture
def act(web, pipeline):
    def call(action: str, path: str, **data: Any) -> str:
        query = {"tab": "visual", "node": "load", "at": "/nodes/1"}
        url = reverse("pipelines:form", args=[pipeline.workspace.slug, pipeline.slug], query=query)
        return web.post(url, {"action": action, "path": path, **data}, headers=HTMX).content.decode()

    return call


@pytest.fixture
def target(pipeline, editor):
    return lambda: json.loads(open_draft(pipeline, editor).text)["nodes"][1]


def test_every_kind_of_hook_is_filled_in_here():
    assert set(FILLED) == set(HOOKS)


@pytest.mark.parametrize("kind", HOOKS)
def test_a_hook_is_added_and_filled_in(kind, act, target, connected):
    add_connection(connected, "pager", WebhookFields("https://hooks.example.com/x"))
    act("append", "/nodes/1/postHook", tag=kind)
    for name, value in FILLED[kind].items():
        act("set", f"/nodes/1/postHook/{name}", value=value)
    filled = {name: json.loads(value) if name == "args" else value for name, value in FILLED[kind].items()}
    assert target()["postHook"] == {"type": kind, **filled}


def test_a_second_hook_makes_a_list_and_hooks_change_places(act, target):
    act("append", "/nodes/1/preHook", tag="sql")
    act("append", "/nodes/1/preHook", tag="refresh_mat_view")
    act("up", "/nodes/1/preHook/1")
    assert [hook["type"] for hook in target()["preHook"]] == ["refresh_mat_view", "sql"]


def test_a_hook_offers_webhooks_and_a_target_databases(act, connected):
    add_connection(connected, "pager", WebhookFields("https://hooks.example.com/x"))
    page = act("append", "/nodes/1/postHook", tag="webhook")
    hooks = page[page.index("Hooks") :]
    assert '<option value="pager"' in hooks
    assert '<option value="warehouse"' not in hooks
    assert '<option value="pager"' not in page[: page.index("Hooks")]


def test_the_error_of_a_hook_appears_at_its_field(act):
    act("append", "/nodes/1/postHook", tag="sql")
    page = act("set", "/nodes/1/postHook/statement", value="DELETE FROM numbers")
    assert "A hook cannot run DELETE" in page


def test_functions_that_are_installed_are_offered(act):
    page = act("append", "/nodes/1/postHook", tag="custom_function")
    assert '<option value="flow-test.note"' in page
