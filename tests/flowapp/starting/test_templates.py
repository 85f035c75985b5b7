"""Templates: each makes a draft that lacks nothing but names."""

from __future__ import annotations

import json

import pytest

from flowapp.pipelines.drafts import open_draft, view_draft
from flowapp.pipelines.models import Pipeline
from flowapp.starting.templates import TEMPLATES
from tests.flowapp.starting.test_blank import BLANK

pytestmark = pytest.mark.django_db
NAMES_MISSING = {"value.empty", "watermark.column_required", "value.length"}


@pytest.mark.parametrize("name", [name for name in TEMPLATES if name != "blank"])
def test_a_template_becomes_a_draft_that_only_lacks_names(as_, person, connected, name):
    as_("editor").post(BLANK, {"name": "Daily", "begin": name})
    view = view_draft(open_draft(Pipeline.objects.get(slug="daily"), person("editor")))

    nodes = json.loads(view.draft.text)["nodes"]
    assert [node["kind"] for node in nodes] == list(TEMPLATES[name].kinds)
    assert {diagnostic.code for diagnostic in view.checked.errors} <= NAMES_MISSING


def test_an_unknown_template_makes_nothing(as_, workspace):
    as_("editor").post(BLANK, {"name": "Daily", "begin": "nonsense"})
    assert not Pipeline.objects.exists()
