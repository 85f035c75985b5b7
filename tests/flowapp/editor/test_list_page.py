"""The list of pipelines: its content, its filters, and that its cost does not grow with the number of rows."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from flowapp.accounts.services import ensure_workspace
from flowapp.editor.listing import draw_chart
from flowapp.pipelines.deletion import delete_pipeline
from flowapp.pipelines.models import Pipeline, PipelineVersion
from flowapp.pipelines.services import create_pipeline, set_enabled
from flowapp.runs.models import NodeRun, Run, RunKind, State, Trigger

pytestmark = pytest.mark.django_db


@pytest.fixture
def url(workspace):
    return lambda **query: reverse("pipelines:list", args=[workspace.slug], query=query or None)


def add_pipelines(workspace, count, runs_each=0):
    """Many pipelines with as many runs each, made in bulk."""
    pipelines = Pipeline.objects.bulk_create(
        Pipeline(workspace=workspace, slug=f"p{i:04}", latest_number=1, target=f"public.t{i}", load_mode="append")
        for i in range(count)
    )
    versions = PipelineVersion.objects.bulk_create(
        PipelineVersion(workspace=workspace, pipeline=p, number=1, document="{}", sha256="") for p in pipelines
    )
    now = timezone.now()
    runs = Run.objects.bulk_create(
        [
            Run(
                workspace=workspace,
                pipeline=p,
                version=v,
                number=n,
                state=State.SUCCEEDED,
                trigger=Trigger.API,
                queued_at=now - timedelta(minutes=runs_each - n),
                due_at=now,
                rows_loaded=n,
                rows_rejected=2,
            )
            for p, v in zip(pipelines, versions, strict=True)
            for n in range(runs_each)
        ],
        batch_size=5000,
    )
    NodeRun.objects.bulk_create(
        [
            NodeRun(
                workspace=workspace,
                run=r,
                position=0,
                node="load",
                kind="target",
                rows_loaded=r.number,
                rows_rejected=2,
            )
            for r in runs
        ],
        batch_size=5000,
    )
    return pipelines


def test_the_chart_has_the_newest_run_at_its_right_end_and_shows_failures_in_full():
    chart = draw_chart([(10, False), (None, True), (20, False)])
    assert chart.done == "M85 20v-10h4v10zM95 20v-20h4v20z"
    assert chart.failed == "M90 20v-20h4v20z"


def names_on(response):
    return re.findall(r'<tr id="pipeline-([^"]+)"', response.content.decode())


def test_a_pipeline_is_reported_with_its_place_mode_and_newest_run(web, url, pipeline):
    add_pipelines(pipeline.workspace, 1, runs_each=3)
    page = web.get(url()).content.decode()
    assert "public.t0" in page
    assert "Succeeded" in page
    assert "Rows loaded by the last 3 runs: at most 2" in page
    assert "never run" in page
    assert ">Succeeded with warnings</option>" in page, "in the words of the badges"


def test_a_restore_is_the_last_run_but_no_bar_of_rows_loaded(web, url, workspace):
    add_pipelines(workspace, 1, runs_each=3)
    Run.objects.filter(number=2).update(kind=RunKind.RESTORE, state=State.FAILED)
    page = web.get(url()).content.decode()
    assert "Failed" in page
    assert "Rows loaded by the last 2 runs: at most 1" in page


def test_rows_loaded_and_rejected_are_those_of_the_last_load_also_after_a_replay(web, url, workspace):
    add_pipelines(workspace, 2, runs_each=3)
    of_last = Run.objects.filter(pipeline__slug="p0001", number=2)
    of_last.update(kind=RunKind.REPLAY, rows_loaded=1_000, rows_rejected=1_000)
    page = web.get(url(sort="loaded"))
    assert "1,000" not in page.content.decode()
    assert names_on(page) == ["p0000", "p0001"]


def test_a_replay_is_marked_because_its_few_rows_do_not_represent_the_pipeline(web, url, workspace):
    add_pipelines(workspace, 1, runs_each=1)
    Run.objects.update(kind=RunKind.REPLAY)
    assert ">replay</span>" in web.get(url()).content.decode()
    editor = web.get(reverse("pipelines:edit", args=[workspace.slug, "p0000"])).content.decode()
    assert "Rejected by the last run (replay): 2" in editor
    runs = web.get(reverse("pipelines:edit", args=[workspace.slug, "p0000"]), {"tab": "runs"}).content.decode()
    assert ">replay</span>" in runs.split("<tbody>")[1]


def test_an_empty_list_teaches_and_offers_the_first_pipeline(web, url):
    page = web.get(url()).content.decode()
    assert "Rejected rows are stored with the reason" in page
    assert reverse("starting:home", args=["alices-team"]) in page


def test_a_viewer_is_not_offered_what_viewers_cannot_do(sign_in, person, url):
    page = sign_in(person("viewer")).get(url()).content.decode()
    assert reverse("starting:home", args=["alices-team"]) not in page


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"search": "ord"}, ["orders"]),
        ({"search": "NUMB"}, ["numbers"]),
        ({"tag": "daily"}, ["numbers"]),
        ({"tag": "dail"}, []),
        ({"mode": "append"}, ["numbers"]),
        ({"mode": "upsert"}, []),
        ({"state": "never"}, ["numbers", "orders"]),
        ({"state": "failed"}, []),
        ({"enabled": "no"}, ["orders"]),
        ({"sort": "run", "state": "nonsense", "cursor": "x"}, ["numbers", "orders"]),
        ({"search": "\0"}, ["numbers", "orders"]),
    ],
)
def test_the_list_is_filtered_by_the_query(web, url, save, workspace, query, found):
    save(metadata={"tags": ["daily", "demo"]})
    set_enabled(create_pipeline(workspace, "orders"), False)
    assert names_on(web.get(url(**query))) == found


def test_strangers_pipelines_are_not_listed(web, url, pipeline):
    add_pipelines(ensure_workspace("bobs-team"), 2)
    assert names_on(web.get(url())) == ["numbers"]


@pytest.mark.parametrize("sort", ["name", "run", "next"])
def test_pages_hold_every_pipeline_once(web, url, workspace, sort):
    add_pipelines(workspace, 120, runs_each=1)
    seen, address = [], url(sort=sort)
    while address:
        response = web.get(address)
        seen += names_on(response)
        following = re.search(r'href="([^"]+)">Next<', response.content.decode())
        address = url() + following[1].replace("&amp;", "&") if following else ""
    assert sorted(seen) == [f"p{i:04}" for i in range(120)]


def test_the_switch_returns_the_row_and_a_toast(web, workspace, pipeline):
    address = reverse("pipelines:switch", args=[workspace.slug, "numbers"])
    response = web.post(address, {"what": "enabled", "value": "off"}, headers={"HX-Request": "true"})
    assert 'aria-checked="false"' in response.content.decode()
    assert "disabled" in response["HX-Trigger"]
    pipeline.refresh_from_db()
    assert not pipeline.enabled


def test_a_schedule_is_paused_and_resumed_from_the_list(web, workspace, save):
    pipeline = save(schedule={"kind": "every", "interval": "1h"}).pipeline
    address = reverse("pipelines:switch", args=[workspace.slug, pipeline.slug])
    paused = web.post(address, {"what": "paused", "value": "on"}, headers={"HX-Request": "true"})
    pipeline.refresh_from_db()
    assert (pipeline.paused, pipeline.next_fire_at) == (True, None)
    assert "Resume" in paused.content.decode()

    resumed = web.post(address, {"what": "paused", "value": "off"}, headers={"HX-Request": "true"})
    pipeline.refresh_from_db()
    assert not pipeline.paused
    assert pipeline.next_fire_at
    assert "Pause" in resumed.content.decode()


def test_the_schedule_tab_pauses_and_comes_back_to_itself(web, workspace, save):
    save(schedule={"kind": "every", "interval": "1h"})
    address = reverse("pipelines:switch", args=[workspace.slug, "numbers"])
    page = web.post(address, {"what": "paused", "value": "on", "from": "schedule"}, follow=True)

    assert page.redirect_chain[0][0].endswith("?tab=schedule")
    assert "The schedule is paused" in page.content.decode()
    assert "Resume the schedule" in page.content.decode()


def test_a_deleted_pipeline_takes_its_versions_and_runs_along(web, workspace):
    add_pipelines(workspace, 1, runs_each=2)
    Run.objects.update(ended_at=timezone.now())
    web.post(reverse("pipelines:delete", args=[workspace.slug, "p0000"]))
    assert not Pipeline.objects.exists()
    assert not Run.objects.exists()


def test_a_pipeline_with_many_runs_is_deleted_by_as_many_queries_as_one_with_few(web, workspace):
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    needed = []
    for runs in (2, 12):
        add_pipelines(workspace, 1, runs_each=runs)
        Run.objects.update(ended_at=timezone.now())
        with CaptureQueriesContext(connection) as queries:
            delete_pipeline(Pipeline.objects.get())
        needed.append(len(queries))
    assert needed[0] == needed[1]


def test_a_pipeline_that_runs_is_not_deleted(web, workspace):
    add_pipelines(workspace, 1, runs_each=1)
    assert web.post(reverse("pipelines:delete", args=[workspace.slug, "p0000"])).status_code == 409
    assert Pipeline.objects.exists()


def test_the_number_of_queries_does_not_grow(web, url, workspace, django_assert_max_num_queries):
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    add_pipelines(workspace, 2, runs_each=2)
    with CaptureQueriesContext(connection) as few:
        web.get(url())
    Run.objects.all().delete()
    Pipeline.objects.all().delete()
    add_pipelines(workspace, 60, runs_each=25)
    with django_assert_max_num_queries(len(few)):
        web.get(url())
    with django_assert_max_num_queries(len(few)):
        web.get(url(sort="run", state="succeeded"))
