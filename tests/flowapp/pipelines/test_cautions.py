"""Connectors that were never tested against a real server say so wherever a person chooses them."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse

from flowapp.pipelines.drafts import open_draft, replace_text
from ir.connectors import CONNECTORS
from ir.manifests.stores import STORE_KINDS

pytestmark = pytest.mark.django_db
CAUTION = "This connector has not been tested against a real server."
UNTESTED = ("sqlserver", "oracle", "snowflake", "bigquery")


def test_it_is_said_of_these_connectors_only():
    assert tuple(name for name, connector in CONNECTORS.items() if connector.caution == CAUTION) == UNTESTED
    assert tuple(name for name, kind in STORE_KINDS.items() if kind.caution) == UNTESTED


@pytest.mark.parametrize(("connector", "count"), [("snowflake", 1), ("mysql", 0)])
def test_it_is_said_at_the_source(web, pipeline, editor, document, connector, count):
    made = document()
    made["nodes"][0] |= {"connector": connector, "connection": "shop", "config": {"table": {"name": "t"}}}
    replace_text(open_draft(pipeline, editor), json.dumps(made))
    panel = reverse("pipelines:panel", args=[pipeline.workspace.slug, pipeline.slug])
    page = web.get(panel, {"tab": "visual", "node": made["nodes"][0]["id"]}).content.decode()
    assert page.count(CAUTION) == count
