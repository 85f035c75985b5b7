"""The part of a draft that is previewed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from flowapp.connections.services import add_connection
from flowapp.connections.store_fields import StoreFields
from flowapp.node_previews.drafted import drafted_path
from flowapp.pipelines.drafts import open_draft, replace_text, view_draft
from tests.flowapp.conftest import make_document
from tests.flowapp.delta_documents import rejecting_nodes

pytestmark = pytest.mark.django_db
QUARANTINE = {"table": "dlq.numbers", "connection": "warehouse"}


@pytest.mark.parametrize(("table", "target"), [("numbers", "load"), ("", "check_preview")])
def test_rules_before_a_delta_table_are_previewed_also_if_the_table_has_no_name_yet(checked, person, table, target):
    add_connection(checked.workspace, "lake", StoreFields("folder", {"path": "sales"}))
    made: dict[str, Any] = make_document(nodes=rejecting_nodes(QUARANTINE, table=table))
    draft = replace_text(open_draft(checked, person("editor")), json.dumps(made))
    nodes = json.loads(drafted_path(view_draft(draft), "check").document)["nodes"]
    assert [node["id"] for node in nodes] == ["files", "check", target]
    assert "quarantine" not in nodes[1]
