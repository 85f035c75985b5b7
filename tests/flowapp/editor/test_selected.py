"""Actions on the pipelines that are selected in the list, favourites and the archive on its pages."""

from __future__ import annotations

import re

import pytest

from flowapp.accounts.services import ensure_workspace
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.services import create_pipeline, set_archived
from flowapp.runs.models import Run
from flowapp.runs.services import queue_run
from tests.flowapp.reading import words
from tests.flowapp.web.conftest import as_, person

__all__ = ["as_", "person"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("both")]
AT = "/w/alices-team/pipelines/"


@pytest.fixture
def both(save):
    """The pipelines `letters` and `numbers`."""
    return save("letters").pipeline, save("numbers").pipeline


def act(client, action, *slugs, **values):
    return client.post(f"{AT}-/selected/", {"action": action, "pipeline": slugs, **values}, follow=True)


def listed(client, query=""):
    return re.findall(r'<tr id="pipeline-([^"]+)"', client.get(f"{AT}{query}").content.decode())


@pytest.mark.parametrize(
    ("action", "changed"),
    [
        ("pause", {"paused": True}),
        ("resume", {"paused": False}),
        ("disable", {"enabled": False}),
        ("enable", {"enabled": True}),
    ],
)
def test_switches_apply_to_all_selected_pipelines(as_, action, changed):
    page = act(as_("editor"), action, "letters", "numbers", query="sort=run&cursor=x")

    assert "2 pipelines" in words(page)
    assert page.redirect_chain[0][0] == f"{AT}?sort=run"
    assert Pipeline.objects.filter(**changed).count() == 2


def test_a_refusal_does_not_keep_the_others_from_running(as_):
    Pipeline.objects.filter(slug="letters").update(enabled=False)
    page = words(act(as_("editor"), "run", "letters", "numbers"))

    assert "1 pipeline queued to run." in page
    assert "letters: Pipeline 'letters' is disabled." in page
    assert Run.objects.get().pipeline.slug == "numbers"


def test_a_tag_is_added_to_all(as_):
    act(as_("editor"), "tag", "letters", "numbers", tag="daily")
    assert set(Pipeline.objects.values_list("tags", flat=True)) == {"\ndaily\n"}


def test_before_a_deletion_a_page_lists_what_is_lost(as_):
    client = as_("editor")
    queue_run(Pipeline.objects.get(slug="numbers"), "manual", send=False)
    page = words(act(client, "delete", "letters", "numbers"))

    assert "Delete 2 pipelines?" in page
    assert "numbers1 run not ended: not deleted until you cancel it 1 1 0 0" in page
    assert Pipeline.objects.count() == 2
    done = words(client.post(f"{AT}-/delete/", {"pipeline": ["letters", "numbers"]}, follow=True))
    assert "1 pipeline deleted with versions and runs." in done
    assert list(Pipeline.objects.values_list("slug", flat=True)) == ["numbers"]


@pytest.mark.parametrize("slugs", [(), ("p",) * 51, ("elsewhere",)])
def test_a_selection_of_nothing_too_much_or_others_pipelines_is_refused(as_, slugs):
    create_pipeline(ensure_workspace("bobs-team"), "elsewhere")
    assert act(as_("editor"), "disable", *slugs).status_code in (404, 422)
    assert not Pipeline.objects.filter(enabled=False).exists()


def test_a_viewer_selects_nothing(as_):
    client = as_("viewer")
    assert "selected-pipelines" not in client.get(AT).content.decode()
    assert act(client, "disable", "numbers").status_code == 403


def test_favourites_are_listed_first_for_the_user_who_starred_them(as_):
    client = as_("viewer")
    client.post(f"{AT}numbers/favourite/", {"value": "on"})

    assert listed(client) == ["numbers", "letters"]
    assert listed(client, "?sort=-name") == ["numbers", "letters"]
    assert listed(as_("editor")) == ["letters", "numbers"]
    client.post(f"{AT}numbers/favourite/", {"value": "off"})
    assert listed(client) == ["letters", "numbers"]


def test_archived_pipelines_are_listed_by_themselves(as_):
    client = as_("editor")
    client.post(f"{AT}letters/archive/", {"value": "on"})

    assert listed(client) == ["numbers"]
    assert listed(client, "?enabled=archived") == ["letters"]
    act(client, "unarchive", "letters")
    assert listed(client) == ["letters", "numbers"]


def test_the_only_pipeline_is_not_lost_in_the_archive(as_):
    for pipeline in Pipeline.objects.all():
        set_archived(pipeline, True)
    assert "Archived pipelines are listed only under" in words(as_("viewer").get(AT))


def test_a_copy_opens_in_the_editor_with_a_warning(as_):
    page = as_("editor").post(f"{AT}numbers/duplicate/", follow=True)

    assert page.redirect_chain[0][0] == f"{AT}numbers-copy/"
    assert "It loads the same tables until you change its targets." in words(page)
