"""Triggers on their page, in the API and on the command line."""

from __future__ import annotations

import pytest

from flowapp.triggers.models import EventTrigger, TriggerChange
from flowapp.triggers.services import add_trigger
from tests.flowapp.reading import words
from tests.flowapp.triggers.test_triggers import send

pytestmark = pytest.mark.django_db
PAGE = "/w/alices-team/triggers/numbers/"
API = "/api/pipelines/numbers/triggers/"


def test_the_page_adds_rotates_and_removes_a_trigger(web, pipeline):
    page = web.post(f"{PAGE}add/", {"name": "export", "if_busy": "refuse"})
    first = page.context["secret"]
    assert first in page.content.decode()
    trigger = EventTrigger.objects.get()
    assert (trigger.name, trigger.if_busy) == ("export", "refuse")
    page = web.get(PAGE)
    assert first not in page.content.decode()
    assert f"/api/triggers/{trigger.pk}/" in page.content.decode()
    second = web.post(f"{PAGE}{trigger.pk}/rotate/").context["secret"]
    assert second != first
    removed = web.post(f"{PAGE}{trigger.pk}/remove/", follow=True)
    assert "Trigger export removed." in words(removed)
    assert not EventTrigger.objects.exists()


def test_a_name_that_is_refused_is_explained_in_the_form(web, pipeline):
    page = web.post(f"{PAGE}add/", {"name": "No Name"})
    assert page.status_code == 422
    assert "is not a valid name for a trigger" in words(page)


def test_viewers_see_triggers_and_change_none(sign_in, person, pipeline):
    trigger, _ = add_trigger(pipeline, "export", "wait", "alice")
    client = sign_in(person("viewer"))
    assert "Add a trigger" not in words(client.get(PAGE))
    for path in ("add/", f"{trigger.pk}/rotate/", f"{trigger.pk}/remove/"):
        assert client.post(PAGE + path).status_code == 403
    assert client.post(API, {"name": "other"}, content_type="application/json").status_code == 403


def test_a_trigger_of_another_pipeline_is_unknown(web, pipeline, save):
    trigger, _ = add_trigger(save("other").pipeline, "export", "wait", "alice")
    assert web.post(f"{PAGE}{trigger.pk}/remove/").status_code == 404
    assert web.delete(f"{API}{trigger.pk}/").status_code == 404
    assert EventTrigger.objects.exists()


def test_the_api_manages_triggers(web, pipeline):
    made = web.post(API, {"name": "export"}, content_type="application/json")
    assert (made.status_code, made["Cache-Control"]) == (201, "no-store")
    listed = web.get(API).json()
    assert [one["name"] for one in listed] == ["export"]
    assert "secret" not in listed[0]
    one = f"{API}{made.json()['id']}/"
    rotated = web.post(f"{one}rotate/")
    assert rotated.json()["secret"] != made.json()["secret"]
    assert web.delete(one).status_code == 204
    assert web.delete(one).json()["code"] == "trigger.unknown"


def test_the_command_line_manages_triggers(flow, pipeline, settings):
    settings.FLOW_WORKSPACE = pipeline.workspace.slug
    made = flow("trigger", "add", "numbers", "export", "--if-busy", "refuse", "--json").json
    assert (made["name"], made["ifBusy"]) == ("export", "refuse")
    listed = flow("trigger", "list", "numbers")
    assert made["url"] in listed.stdout
    assert made["secret"] not in listed.stdout
    rotated = flow("trigger", "rotate", "numbers", "export")
    assert "The secret is not shown again." in rotated.stdout
    assert made["secret"] not in rotated.stdout
    assert flow("trigger", "remove", "numbers", "export").stdout == "Trigger export removed.\n"
    assert not EventTrigger.objects.exists()
    assert {one.by for one in TriggerChange.objects.all()} == {"command line"}


def test_a_call_that_is_signed_with_the_printed_secret_queues_a_run(flow, pipeline, settings, sent):
    settings.FLOW_WORKSPACE = pipeline.workspace.slug
    printed = flow("trigger", "add", "numbers", "export").stdout
    url, secret = (line.split()[1] for line in printed.splitlines()[:2])
    assert url.endswith(f"/api/triggers/{EventTrigger.objects.get().pk}/")
    assert send(EventTrigger.objects.get(), secret).status_code == 202


def test_the_command_line_explains_what_it_does_not_do(flow, pipeline, settings):
    settings.FLOW_WORKSPACE = pipeline.workspace.slug
    unknown = flow("trigger", "remove", "numbers", "export")
    assert (unknown.status, "trigger.unknown" in unknown.stderr) == (1, True)
    flow("trigger", "add", "numbers", "export")
    assert "trigger.name_taken" in flow("trigger", "add", "numbers", "export").stderr
