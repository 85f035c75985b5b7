"""Operations in the editor's form: what their fields offer and ask for."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse

from flowapp.pipelines.drafts import open_draft, replace_text

pytestmark = pytest.mark.django_db


@pytest.fixture
def form(web, pipeline, editor, document):
    """The form of a transform node with one operation."""

    def show(op: dict[str, object]) -> str:
        transform = {"id": "shape", "kind": "transform", "inputs": ["files"], "ops": [op]}
        made = document()
        made["nodes"].insert(1, transform)
        made["nodes"][2]["inputs"] = ["shape"]
        replace_text(open_draft(pipeline, editor), json.dumps(made))
        panel = reverse("pipelines:panel", args=[pipeline.workspace.slug, pipeline.slug])
        return web.get(panel, {"tab": "visual", "node": "shape"}).content.decode()

    return show


def test_a_window_offers_its_functions_not_those_of_hooks(form):
    columns = [{"as": "place", "function": "rowNumber"}]
    page = form({"op": "window", "orderBy": [{"column": "id"}], "columns": columns})
    assert '<option value="rowNumber" selected' in page
    assert '<option value="runningSum"' in page
    assert "(unknown)" not in page
    assert "flow-test.note" not in page


@pytest.mark.parametrize(
    ("op", "wanted"),
    [
        ({"op": "rename", "columns": {}}, ("Column", "New name")),
        ({"op": "fillNull", "columns": {}}, ("Column", "Instead of NULL")),
        ({"op": "flatten", "field": "id", "columns": {}}, ("Path", "Type")),
        ({"op": "join", "with": "files", "on": {}}, ("Column", "Column of the reference")),
    ],
)
def test_an_empty_row_of_a_map_says_what_it_wants(form, op, wanted):
    page = form(op)
    for words in wanted:
        assert f'placeholder="{words}"' in page
    assert 'placeholder="Value"' not in page
