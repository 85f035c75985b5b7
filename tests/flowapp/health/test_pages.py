"""The light in the top bar and the Health page."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from html import unescape

import pytest
from django.db import OperationalError
from django.utils import timezone

from flowapp.alerts.models import Alert, AlertState
from flowapp.alerts.services import raise_alert
from flowapp.processes.heartbeats import beat, spark_name
from flowapp.runs.models import CommitRecord, NodeRun, Run, RunKind, State, Trigger
from flowapp.runs.services import queue_run
from tests.flowapp.conftest import make_document
from tests.flowapp.reading import HOSTILE, assert_harmless, words

pytestmark = pytest.mark.django_db
HEALTH = "/w/alices-team/health/"


@pytest.fixture
def alive(settings, redis_url) -> None:
    """All parts answer."""
    settings.REDIS_URL = redis_url
    beat("w", "worker")
    beat("s", "scheduler")
    beat(spark_name("w"), "spark")


@pytest.fixture
def widget(as_):
    return lambda role="viewer": as_(role).get(f"{HEALTH}widget/", headers={"HX-Request": "true"})


def failed(workspace, message: str = "It broke.", severity: str = "error", **where) -> Alert:
    raise_alert("run.failed", severity, message, "Fix it.", workspace=workspace, **where)
    return Alert.objects.order_by("-first_seen_at").first()


def test_every_page_asks_for_the_light(workspace, as_):
    page = as_("viewer").get("/w/alices-team/settings/").content.decode()

    assert 'hx-get="/w/alices-team/health/widget/" hx-trigger="load, every 15s' in page


def test_the_light_is_green_only_if_all_parts_answer(workspace, alive, widget):
    assert "Healthy" in words(widget())
    assert "every 15s" in widget().content.decode()


@pytest.mark.parametrize("role", ["worker", "scheduler"])
def test_a_silent_worker_or_scheduler_shows_unknown(workspace, alive, widget, role):
    from flowapp.processes.models import Heartbeat

    Heartbeat.objects.filter(role=role).delete()
    text = words(widget())

    assert "Unknown" in text
    assert "Healthy" not in text
    assert f"No {role} sent a heartbeat" in text


def test_a_silent_broker_shows_unknown(workspace, alive, widget, settings):
    settings.REDIS_URL = "redis://:secretword@127.0.0.1:1/0"
    answer = widget()

    assert "Unknown" in words(answer)
    assert "secretword" not in answer.content.decode()


def test_a_silent_database_shows_unknown(workspace, widget, monkeypatch):
    """Not even the user can be read."""

    def fail(*args: object) -> None:
        raise OperationalError("password=secretword")

    monkeypatch.setattr("flowapp.health.views.get_light", fail)
    answer = widget()

    assert answer.status_code == 200
    assert "Unknown" in words(answer)
    assert "The control database does not answer." in words(answer)
    assert "secretword" not in answer.content.decode()


def test_the_light_shows_the_worst_that_is_open_with_its_next_step(workspace, alive, widget):
    failed(workspace, "Careful.", "warning", node="a")
    assert "1 open" in words(widget())
    failed(workspace, "It broke.", node="b")
    page = widget().content.decode()

    assert "bg-red-lt" in page.partition("health-alerts")[0]
    text = words(widget())
    assert "2 open" in text
    assert text.index("error It broke.") < text.index("warning Careful.")
    assert "Fix it." in text


def test_what_somebody_looks_after_turns_no_light_on(workspace, alive, widget):
    failed(workspace)
    Alert.objects.update(state=AlertState.ACKNOWLEDGED)

    assert "Healthy" in words(widget())


def test_alerts_of_other_workspaces_turn_no_light_on(workspace, alive, as_, widget):
    failed(workspace)
    answer = as_("stranger").get("/w/bobs-team/health/widget/")

    assert "It broke." not in words(answer)
    assert "Healthy" in words(answer)


def test_the_light_costs_a_constant_number_of_queries(pipeline, alive, as_, django_assert_max_num_queries):
    run = queue_run(pipeline, Trigger.MANUAL, send=False)
    for n in range(30):
        failed(None, pipeline=pipeline, run=run, node=f"n{n}")
    client = as_("viewer")

    with django_assert_max_num_queries(9):
        answer = client.get(f"{HEALTH}widget/")

    assert answer.status_code == 200


def test_the_page_reports_every_part_and_every_alert_with_its_place(pipeline, alive, as_):
    run = queue_run(pipeline, Trigger.MANUAL, send=False)
    failed(None, pipeline=pipeline, run=run, node="load")
    answer = as_("viewer").get(HEALTH)

    assert all(f"{part} OK" in words(answer) for part in ("Database", "Broker", "Workers", "Scheduler"))
    assert "It broke. Fix it." in words(answer)
    page = answer.content.decode()
    assert "/w/alices-team/pipelines/numbers/?node=load" in page
    assert f"/w/alices-team/runs/{run.pk}/" in page


def test_an_alert_outlives_its_run_and_names_it_no_more(pipeline, as_):
    run = queue_run(pipeline, Trigger.MANUAL, send=False)
    failed(None, pipeline=pipeline, run=run, node="load")
    Run.objects.filter(pk=run.pk).delete()
    alert = Alert.objects.get()
    assert (alert.run_id, alert.run_number) == (None, None)
    assert str(run.pk) not in as_("viewer").get(HEALTH).content.decode()


def test_without_alerts_the_page_says_what_would_be_reported(workspace, as_):
    assert "No open alert" in words(as_("viewer").get(HEALTH))


def test_an_editor_acknowledges_and_resolves(workspace, as_):
    alert, client = failed(workspace), as_("editor")

    client.post(f"{HEALTH}alerts/{alert.pk}/ack/")
    alert.refresh_from_db()
    assert (alert.state, alert.acknowledged_by.email) == ("acknowledged", "editor@example.com")

    client.post(f"{HEALTH}alerts/{alert.pk}/resolve/")
    text = words(client.get(HEALTH))
    assert text.index("No open alert") < text.index("It broke.")
    assert client.post(f"{HEALTH}alerts/{alert.pk}/resolve/").status_code == 409


def test_a_viewer_reads_only(workspace, as_):
    alert, client = failed(workspace), as_("viewer")

    assert client.post(f"{HEALTH}alerts/{alert.pk}/ack/").status_code == 403
    assert "Acknowledge" not in words(client.get(HEALTH))


def test_alerts_of_another_workspace_are_not_there(workspace, as_):
    alert, client = failed(workspace), as_("stranger")

    for action in ("ack", "resolve"):
        assert client.post(f"/w/bobs-team/health/alerts/{alert.pk}/{action}/").status_code == 404
    alert.refresh_from_db()
    assert alert.state == "open"


def test_resolved_alerts_come_in_pages(workspace, as_, django_assert_max_num_queries):
    now = timezone.now()
    Alert.objects.bulk_create(
        Alert(
            workspace=workspace,
            kind="run.failed",
            severity="error",
            message=f"trouble {n} end",
            next_step="x",
            fingerprint=str(n),
            state="resolved",
            first_seen_at=now,
            last_seen_at=now,
            resolved_at=now,
        )
        for n in range(30)
    )
    client = as_("viewer")
    with django_assert_max_num_queries(12):
        page = client.get(HEALTH)

    assert words(page).count("trouble") == 25
    assert "Older" in words(page)


def test_messages_and_steps_do_no_harm(workspace, alive, as_, widget):
    failed(workspace, HOSTILE)

    assert_harmless(widget())
    assert_harmless(as_("editor").get(HEALTH))


def ended(pipeline, loaded: int, rejected: int, seconds: int, kind: RunKind = RunKind.LOAD) -> Run:
    run = queue_run(pipeline, Trigger.MANUAL, send=False)
    now = timezone.now()
    Run.objects.filter(pk=run.pk).update(
        state=State.SUCCEEDED, started_at=now, ended_at=now + timedelta(seconds=seconds), kind=kind
    )
    NodeRun.objects.create(
        workspace=run.workspace,
        run=run,
        position=1,
        node="load",
        kind="target",
        rows_loaded=loaded,
        rows_rejected=rejected,
    )
    return run


def test_charts_hold_the_numbers_of_the_last_runs_the_oldest_first(as_, pipeline):
    ended(pipeline, 1_000, 5, 2)
    ended(pipeline, 1_200, 0, 3)
    page = as_("viewer").get(HEALTH).content.decode()

    values = [json.loads(unescape(text)) for text in re.findall(r'data-values="([^"]*)"', page)]
    assert values == [[1000, 1200], [2.0, 3.0], [5, 0]]
    assert "Rows loaded: last 1,200, least 1,000, most 1,200 rows" in page


def test_charts_hold_the_rejected_rows_of_a_run_that_loaded_nothing(as_, pipeline):
    run = queue_run(pipeline, Trigger.MANUAL, send=False)
    Run.objects.filter(pk=run.pk).update(state=State.FAILED, quarantine_rows=7)
    assert 'data-values="[7]"' in as_("viewer").get(HEALTH).content.decode()


@pytest.mark.parametrize("kind", [RunKind.RESTORE, RunKind.PREVIEW])
def test_charts_are_of_loads_alone(as_, pipeline, kind):
    ended(pipeline, 9_000, 0, 9, kind)
    assert "appear here after its first run" in words(as_("viewer").get(HEALTH))

    ended(pipeline, 1_000, 5, 2)
    assert 'data-values="[1000]"' in as_("viewer").get(HEALTH).content.decode()


def test_the_band_of_a_pipeline_that_expects_one_is_drawn(as_, save):
    nodes = make_document()["nodes"]
    band = {"windowRuns": 3, "maxDecreasePct": 50, "maxIncreasePct": 50}
    pipeline = save(nodes=[nodes[0], {**nodes[1], "expectedRowCountDelta": band}]).pipeline
    for loaded in (100, 100, 100, 120):
        run = ended(pipeline, loaded, 0, 1)
        CommitRecord.objects.create(
            workspace=run.workspace,
            pipeline=pipeline,
            run=run,
            node="load",
            attempt=1,
            committed_at=timezone.now(),
            rows_loaded=loaded,
        )

    page = as_("viewer").get(HEALTH).content.decode()
    assert 'data-least="50.0" data-most="150.0"' in page
    assert "most 120 rows; expected at least 50 and at most 150 rows" in page
    assert "Expected at least 50 and at most 150 rows, by the last 3 loads." in page


def test_charts_are_of_one_pipeline_on_demand_and_of_none_before_anything_ran(as_, pipeline):
    assert "appear here after its first run" in words(as_("viewer").get(HEALTH))
    ended(pipeline, 1, 0, 1)
    assert "flow-trend" in as_("viewer").get(f"{HEALTH}?pipeline=numbers").content.decode()
    assert "flow-trend" not in as_("viewer").get(f"{HEALTH}?pipeline=others").content.decode()


def test_the_page_is_narrowed_down_and_stays_so_while_it_is_open(save, as_):
    for slug in ("one", "two"):
        failed(None, f"It broke in {slug}.", pipeline=save(slug).pipeline)
    failed(None, "Gone by now.", pipeline=save("one").pipeline, node="x")
    Alert.objects.filter(node="x").update(state=AlertState.RESOLVED, resolved_at=timezone.now(), resolved_how="person")
    client = as_("viewer")

    page = client.get(f"{HEALTH}?pipeline=one")
    assert "It broke in one." in words(page)
    assert "It broke in two." not in words(page)
    assert "Gone by now." in words(page)
    assert 'hx-get="/w/alices-team/health/?pipeline=one"' in page.content.decode()
    assert "It broke in one." not in words(client.get(f"{HEALTH}?pipeline=one&state=resolved"))
    assert "Gone by now." not in words(client.get(f"{HEALTH}?pipeline=one&state=open"))
    assert "No matching open alerts." in words(client.get(f"{HEALTH}?kind=run.held"))


def test_an_unknown_pipeline_shows_no_alerts_and_says_so(save, as_):
    failed(None, "It broke in one.", pipeline=save("one").pipeline)
    text = words(as_("viewer").get(f"{HEALTH}?pipeline=Nothing"))
    assert "No pipeline has the id or name 'Nothing' here" in text
    assert "It broke in one." not in text


def test_an_alert_says_what_resolves_it_by_itself(workspace, as_):
    failed(workspace)

    assert "resolved by the next successful run of the pipeline" in words(as_("viewer").get(HEALTH))
