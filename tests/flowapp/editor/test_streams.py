"""The streams of a tap in the editor, and the form of a source that reads one."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest
from django.urls import reverse

from executors.processes.launch import sandbox_version
from flowapp.connections.services import add_connection, probe_connection
from flowapp.connections.store_fields import StoreFields
from flowapp.pipelines.drafts import open_draft
from flowapp.pipelines.services import create_pipeline, save_version
from tests.flowapp.reading import words
from tests.taps import ORDERS, add_script

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(not sandbox_version(), reason="this kernel has no Landlock"),
]
HTMX = {"HX-Request": "true"}


@pytest.fixture
def taps(settings, tmp_path):
    settings.TAPS = tmp_path / "taps"
    return settings.TAPS


@pytest.fixture
def url(workspace, connected, editor):
    """Return the URLs of the editor of a pipeline that reads from the tap `shop`."""
    source = {"id": "orders", "kind": "source", "connector": "singer", "config": {"tap": "shop", "stream": "none"}}
    target = {"id": "load", "kind": "target", "inputs": ["orders"], "connector": "postgres", "connection": "warehouse"}
    target |= {"schema": "public", "table": "orders", "loadMode": "upsert", "upsertKey": ["id"]}
    document = {"kind": "pipeline", "version": "1.0", "id": "shop", "nodes": [source, target]}
    create_pipeline(workspace, "shop", "Shop")
    save_version(workspace, json.dumps(document), editor)

    def make(name: str) -> str:
        query = {"tab": "visual", "node": "orders", "at": "/nodes/0"}
        return reverse(f"pipelines:{name}", args=["alices-team", "shop"], query=query)

    return make


def test_the_form_offers_installed_taps_and_their_streams(web, url, taps):
    add_script(taps, "shop", ORDERS)
    add_script(taps, "crm", ORDERS)
    form = words(web.get(url("panel")))
    assert "crm (tap-crm==1.0)" in form
    assert "List streams" in form


def test_without_taps_the_form_says_how_to_add_one(web, url, taps):
    assert "an administrator adds them with flow tap add" in words(web.get(url("panel")))


def test_a_listed_stream_is_put_into_the_draft(web, url, taps, workspace, editor):
    add_script(taps, "shop", ORDERS)
    answer = web.get(url("streams"), headers=HTMX)
    assert "shop-orders Select Key: id id bigint, amount pg:numeric, changed timestamptz" in words(answer)
    (values,) = re.findall(r"hx-vals='([^']*)'", answer.content.decode())
    assert web.post(url("fix"), {"patch": json.loads(unescape(values))["patch"]}, headers=HTMX).status_code == 200
    draft = json.loads(open_draft(workspace.pipelines.get(slug="shop"), editor).text)
    assert draft["nodes"][0]["config"]["stream"] == "shop-orders"
    assert "shop-orders Selected" in words(web.get(url("streams"), headers=HTMX))


def test_a_tap_that_fails_is_a_result_of_the_page(web, url, taps):
    add_script(taps, "shop", "sys.exit(3)")
    assert "The tap shop ended with status 3." in words(web.get(url("streams"), headers=HTMX))


def test_a_test_of_a_connection_lists_streams_and_never_shows_its_settings(web, workspace, taps):
    add_script(taps, "shop", f"assert config['token'] == 'hidden-7'\n{ORDERS}", settings=())
    fields = StoreFields("singer", {"tap": "shop"}, {"settings": '{"token": "hidden-7"}'})
    add_connection(workspace, "shop", fields)

    report = probe_connection(workspace, "shop").last_test
    assert (report["ok"], report["streams"], report["tried"]) == (True, "shop-orders", "Singer tap shop")
    page = web.get(reverse("connections:detail", args=["alices-team", "shop"])).content.decode()
    assert "shop-orders" in page
    assert "hidden-7" not in page
