"""A blank pipeline: its id and name."""

from __future__ import annotations

import pytest
from django.urls import reverse

from flowapp.pipelines.models import Pipeline

pytestmark = pytest.mark.django_db
BLANK = "/w/alices-team/new-pipeline/blank/"


def test_a_blank_pipeline_opens_in_its_editor(as_, workspace):
    response = as_("editor").post(BLANK, {"slug": "daily", "name": "Daily"})
    assert response["Location"] == reverse("pipelines:edit", args=[workspace.slug, "daily"])
    assert Pipeline.objects.get(workspace=workspace, slug="daily").name == "Daily"


@pytest.mark.parametrize("slug", ["", "Daily", "1st", "a b", "x" * 64, "numbers"])
def test_an_invalid_id_is_reported_at_its_field(as_, pipeline, slug):
    response = as_("editor").post(BLANK, {"slug": slug})
    assert response.status_code == 422
    assert "text-danger" in response.content.decode()


@pytest.mark.parametrize(
    ("name", "slug", "made"),
    [("Daily Orders", "", "daily-orders"), ("2025 Sales!", "", "sales"), ("Orders", "mine", "mine"), ("–", "", None)],
)
def test_a_new_pipelines_id_is_made_of_its_name_unless_given(as_, workspace, name, slug, made):
    answer = as_("editor").post(BLANK, {"name": name, "slug": slug})

    assert (answer.status_code == 302) == (made is not None)
    assert [p.slug for p in Pipeline.objects.all()] == ([made] if made else [])
