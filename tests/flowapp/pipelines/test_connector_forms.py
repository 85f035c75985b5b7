"""How the form of a source names its connectors and its connection."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse

from flowapp.connections.services import add_connection
from flowapp.connections.store_fields import StoreFields
from flowapp.pipelines.drafts import open_draft, replace_text
from ir.connectors import CONNECTORS
from tests.flowapp.reading import words

pytestmark = pytest.mark.django_db


@pytest.fixture
def form(web, pipeline, editor, document):
    def show(connector: str) -> str:
        made = document()
        config = dict(CONNECTORS[connector].starts_with)
        made["nodes"][0] = {"id": "first", "kind": "source", "connector": connector, "config": config}
        replace_text(open_draft(pipeline, editor), json.dumps(made))
        panel = reverse("pipelines:panel", args=[pipeline.workspace.slug, pipeline.slug])
        return words(web.get(panel, {"tab": "visual", "node": "first"}))

    return show


def test_connectors_have_titles_and_say_what_they_are_for(form):
    shown = form("local_fs")
    assert "Web service (REST API) – Records as JSON, page by page." in shown
    for name, kind in CONNECTORS.items():
        assert f"{kind.title} – {kind.sentence}" in shown
        assert f" {name} " not in shown


@pytest.mark.parametrize("connector", ["singer", "http_api", "http_pull"])
def test_an_optional_connection_is_not_asked_for(form, connector):
    shown = form(connector)
    assert f"Optional: only for {CONNECTORS[connector].connection_for}." in shown
    assert "There is no connection yet" not in shown


def test_a_connection_that_the_connector_needs_is_asked_for(form):
    assert "There is no connection yet. Ask an admin" in form("s3")


def test_the_list_of_connections_names_kinds_by_their_titles(web, workspace):
    add_connection(workspace, "shop", StoreFields("http", {"url": "https://shop.example.com/"}))
    assert "shop Web server shop.example.com" in words(web.get(reverse("connections:list", args=[workspace.slug])))


def test_an_empty_field_says_that_a_value_is_required(form):
    shown = form("http_api")
    assert 'The field "URL" is empty. A value is required.' in shown
    assert "length" not in shown


def test_hints_name_the_fields_of_the_form(web, pipeline, editor, document):
    made = document()
    made["nodes"][-1] |= {"loadMode": "upsert"}
    replace_text(open_draft(pipeline, editor), json.dumps(made))
    panel = reverse("pipelines:panel", args=[pipeline.workspace.slug, pipeline.slug])
    shown = words(web.get(panel, {"tab": "visual", "node": made["nodes"][-1]["id"]}))
    assert 'Set "Key columns" to the columns that identify a row.' in shown
    assert 'A key in "Key columns".' in shown
    assert "upsertKey" not in shown
    answer = web.get(reverse("api:draft", args=[pipeline.slug])).json()
    assert "upsertKey" in json.dumps(answer["diagnostics"])
