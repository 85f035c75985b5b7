"""Pages, API and commands of streams, for streams in each state."""

from __future__ import annotations

import json
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone

from executors.api import SlotFacts
from flowapp.alerts.models import Alert
from flowapp.clock import from_now
from flowapp.pipelines.deletion import delete_pipeline
from flowapp.pipelines.services import save_version, set_archived, set_enabled
from flowapp.runs.leases import claim_run
from flowapp.runs.models import Run, RunKind, State, Trigger
from flowapp.runs.recovery import recover_lost_runs
from flowapp.runs.services import queue_run
from flowapp.streams.control import LINES_PER_HOUR, StreamEvents
from flowapp.streams.models import Stream, StreamChange, StreamHour, StreamState
from flowapp.streams.services import start_due, start_streams
from flowapp.streams.watching import _risk_of, drop_slot, slot_of, watch_streams, why_unused
from ir.errors import FlowError
from tests.databases import connect_to
from tests.flowapp.reading import words
from tests.flowapp.streams.conftest import following

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("sent")]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    from flowapp.celery import app

    names: list[str] = []
    monkeypatch.setattr(app, "send_task", lambda name, args: names.append(name))
    return names


HERE = {"X-Flow-Workspace": "alices-team"}
SLOT = {"name": "flow_x", "status": "reserved", "retained_bytes": 5_000_000, "behind_bytes": 10, "safe_bytes": 10**9}


@pytest.fixture
def stream(mirrored: Any) -> Stream:
    """A stream with a run, that has loaded some changes."""
    queue_run(mirrored, Trigger.MANUAL)
    stream = Stream.objects.get()
    hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    for i in (0, 3):
        StreamHour.objects.create(
            workspace=stream.workspace,
            stream=stream,
            hour=hour - timedelta(hours=i),
            windows=2,
            rows=100 * (i + 1),
            inserted=90,
            deleted=1,
            worst_lag=1.5,
        )
    window = {"at": timezone.now().isoformat(), "rows": 7, "inserted": 6, "updated": 0, "deleted": 1, "rejected": 0}
    Stream.objects.update(slot=SLOT, slot_seen_at=timezone.now(), current_to=timezone.now(), window=window)
    stream.refresh_from_db()
    return stream


@pytest.fixture
def followed_by_none(mirrored: Any, schema: str) -> Any:
    """The pipeline after its document has got another load mode."""
    document = following(schema)
    source, target = document["nodes"]
    source |= {"connector": "postgres", "connection": "warehouse"}
    target["loadMode"] = "append"
    del target["cdcSource"]
    return save_version(mirrored.workspace, json.dumps(document)).pipeline


def end(state: State, code: str = "", message: str = "") -> None:
    Run.objects.update(state=state, error_code=code, error_message=message, ended_at=timezone.now())


def test_the_pages_show_a_stream_in_each_state(as_, stream):
    browser = as_("editor")
    listing, page = "/w/alices-team/streams/", "/w/alices-team/streams/mirror/"
    assert "starting" in words(browser.get(listing))
    Run.objects.update(state=State.RUNNING)
    text = words(browser.get(page))
    assert "running" in text
    assert "500 changes in 4 windows" in text
    assert "4.8 MiB held" in text
    assert "Worst lag" in words(browser.get(f"/w/alices-team/runs/{Run.objects.get().pk}/"))
    assert "Stream: running" in words(browser.get("/w/alices-team/pipelines/mirror/"))
    browser.post(f"{page}pause/", {"reason": "maintenance"})
    end(State.SUCCEEDED)
    assert "Paused" in words(browser.get(page))
    assert "maintenance" in words(browser.get(listing))
    browser.post(f"{page}resume/")
    assert Stream.objects.get().state == StreamState.RUNNING
    end(State.FAILED, "cdc.slot_lost", "It is lost.")
    Stream.objects.update(
        state=StreamState.STOPPED,
        code="cdc.slot_lost",
        reason="It is lost.",
        slot={"name": "flow_x", "status": "lost", "retained_bytes": None, "safe_bytes": None},
    )
    assert "Approve a new snapshot" in words(browser.get(listing))
    assert "Only a new snapshot can continue" in words(browser.get(page))
    for place in (listing, page):
        assert "They replace the rows of the target" in browser.get(place).content.decode()
    browser.post(f"{page}resnapshot/")
    run = Run.objects.order_by("-number").first()
    assert (run.kind, run.state) == (RunKind.STREAM, State.QUEUED)
    assert list(StreamChange.objects.order_by("pk").values_list("action", flat=True)) == [
        "started",
        "paused",
        "resumed",
        "resnapshot",
    ]
    assert "No streams" not in words(browser.get(listing))


def test_a_pipeline_that_only_the_command_line_runs_has_no_stopped_stream_and_can_start_one(as_, mirrored):
    queue_run(mirrored, Trigger.CLI, send=False)
    end(State.SUCCEEDED)
    listing, page, pipeline = (
        f"/w/alices-team/{place}/" for place in ("streams", "streams/mirror", "pipelines/mirror")
    )
    browser = as_("editor")
    for place in (listing, page, pipeline):
        page_text, html = words(shown := browser.get(place)), shown.content.decode()
        found = ("manual" in page_text, "Start" in page_text, "Resume" in page_text, "bg-red-lt" in html)
        assert found == (True, True, False, False)
    browser.post(f"{page}resume/")
    assert Stream.objects.get().state == StreamState.RUNNING
    assert StreamChange.objects.get().action == "started"


@pytest.mark.parametrize("slot", [{}, {"name": "x", "status": "missing"}, {"name": "x", "status": "reserved"}])
def test_the_pages_show_a_stream_whose_slot_is_hardly_known(as_, stream, slot):
    Stream.objects.update(slot=slot, current_to=None, window={})
    assert "nothing loaded yet" in words(as_("editor").get("/w/alices-team/streams/mirror/"))
    assert "mirror" in words(as_("editor").get("/w/alices-team/streams/"))


def test_viewers_see_streams_and_change_nothing(as_, stream):
    browser = as_("viewer")
    page = "/w/alices-team/streams/mirror/"
    assert "Pause the stream" not in words(browser.get(page))
    for action in ("pause", "resume", "resnapshot", "drop-slot"):
        assert browser.post(f"{page}{action}/", {"reason": "x"}).status_code == 403
    assert Stream.objects.get().state == StreamState.RUNNING


def test_without_streams_the_page_says_how_to_get_one(as_, settings):
    assert "No streams yet" in words(as_("viewer").get("/w/alices-team/streams/"))
    settings.FLOW_STREAMING_ENABLED = False
    assert "FLOW_STREAMING_ENABLED=true" in words(as_("viewer").get("/w/alices-team/streams/"))


def test_a_stream_is_started_by_its_schedule_and_again_after_its_run_has_ended(mirrored, sent):
    assert list(start_due([mirrored.pk])) == [mirrored.pk]
    assert (start_streams(), start_streams()) == (1, 0)
    end(State.SUCCEEDED)
    assert start_streams() == 1
    end(State.SUCCEEDED)
    set_enabled(mirrored, False)
    assert start_streams() == 0


def test_a_stream_survives_several_lost_workers_in_a_row(stream, mirrored):
    run = Run.objects.get()
    states = []
    for _ in range(6):
        assert claim_run(run.pk, "worker")
        Run.objects.update(lease_until=from_now(-1))
        recover_lost_runs()
        states.append(Run.objects.get().state)
    assert states == [State.QUEUED] * 5 + [State.FAILED]
    assert (Stream.objects.get().state, Stream.objects.get().code) == (StreamState.STOPPED, "worker.lost_twice")


def test_a_stream_is_paused_and_resumed_on_the_page_of_its_pipeline(stream, as_):
    pipeline = "/w/alices-team/pipelines/mirror/"
    editor = as_("editor")
    for act, state, next_act in (("pause", StreamState.PAUSED, "Resume"), ("resume", StreamState.RUNNING, "Pause")):
        answer = editor.post(f"/w/alices-team/streams/mirror/{act}/", {"from": "pipeline"})
        assert (answer.status_code, answer.url) == (302, pipeline)
        assert Stream.objects.get().state == state
        assert f"{next_act} the stream" in words(editor.get(pipeline))
    assert "Pause the stream" not in words(as_("viewer").get(pipeline))


def test_a_late_stream_raises_an_alert_that_resolves(stream):
    Stream.objects.update(current_to=timezone.now() - timedelta(minutes=5), counted="")
    watch_streams()
    alert = Alert.objects.get(kind="stream.lagging")
    assert "5 min" in alert.message
    Stream.objects.update(current_to=timezone.now())
    watch_streams()
    assert Alert.objects.get(kind="stream.lagging").state == "resolved"


def test_slots_at_risk_are_named(stream, mirrored):
    few = SlotFacts("extended", 10 << 20, False, 1 << 30, 0)
    assert "lost after another 10.0 MiB" in _risk_of(stream, "flow_x", few)
    assert _risk_of(stream, "flow_x", SlotFacts("reserved", 1 << 40, False, 1 << 30, 0)) == ""
    assert "no limit" in _risk_of(stream, "flow_x", SlotFacts("reserved", None, False, 20 << 30, 0))
    end(State.SUCCEEDED)
    set_archived(mirrored, True)
    stream.refresh_from_db()
    stream = Stream.objects.select_related("pipeline").get()
    assert "archived pipeline" in _risk_of(stream, "flow_x", SlotFacts("reserved", None, False, 1 << 30, 0))


def test_a_stream_whose_document_follows_no_source_any_more_does_not_end_the_watch_of_others(stream, followed_by_none):
    Stream.objects.update(current_to=timezone.now() - timedelta(minutes=5))
    watch_streams()
    stream = Stream.objects.select_related("pipeline").get()
    assert why_unused(stream) == "changed"
    assert not Alert.objects.filter(kind="stream.lagging").exists()
    assert "changed pipeline" in _risk_of(stream, "flow_x", SlotFacts("reserved", None, False, 1 << 30, 0))


def test_an_error_of_one_stream_raises_an_alert_and_does_not_end_the_watch_of_others(stream, connected, schema):
    broken = save_version(connected, json.dumps(following(schema, "broken"))).pipeline
    values = {"state": StreamState.RUNNING, "changed_at": timezone.now(), "counted": "no JSON"}
    Stream.objects.create(id=UUID(int=1), workspace=connected, pipeline=broken, **values)  # the first of all
    Stream.objects.filter(pk=stream.pk).update(current_to=timezone.now() - timedelta(minutes=5))
    watch_streams()
    found = set(Alert.objects.values_list("kind", "pipeline__slug"))
    assert {("pipeline.task_failed", "broken"), ("stream.lagging", "mirror")} <= found


def test_the_slot_of_a_first_load_that_did_not_end_is_watched_and_can_be_dropped(followed, source):
    queue_run(followed, Trigger.MANUAL)
    stream = Stream.objects.select_related("pipeline").get()
    watch_streams()
    assert Stream.objects.get().slot == {}
    with connect_to(source) as connection:
        connection.execute("select pg_create_logical_replication_slot(%s, 'pgoutput')", [slot_of(stream)])
        watch_streams()
        assert Stream.objects.get().slot["status"] == "reserved"
        end(State.FAILED)
        set_enabled(followed, False)
        stream = Stream.objects.select_related("pipeline").get()
        assert slot_of(stream) == stream.slot["name"]
        drop_slot(stream, "a person", "It is not needed.")
        assert connection.execute("select count(*) from pg_replication_slots").fetchone() == (0,)


def test_a_pipeline_is_not_deleted_while_its_slot_exists(stream, mirrored):
    end(State.SUCCEEDED)
    with pytest.raises(FlowError) as refused:
        delete_pipeline(mirrored)
    assert refused.value.code == "stream.slot_exists"
    Stream.objects.update(slot={"name": "flow_x", "status": "missing"})
    delete_pipeline(mirrored)
    assert not Stream.objects.exists()


def test_warnings_of_a_stream_are_stored_however_many_other_lines_there_are():
    stored: list[tuple[str, str]] = []
    events = SimpleNamespace(
        log=lambda level, message, node: stored.append((level, message)),
        **dict.fromkeys(("step_rows", "step_note", "committed", "alert")),
    )
    log = StreamEvents(events, None).log
    for _ in range(3 * LINES_PER_HOUR):
        log("info", "A window.")
    log("warning", "One is bad.")
    assert stored == [("warning", "One is bad.")]
    for _ in range(3 * LINES_PER_HOUR):
        log("error", "More are bad.")
    assert len(stored) <= 2 * LINES_PER_HOUR  # the hour may change meanwhile
    assert "are left out" in stored[LINES_PER_HOUR - 1][1]


def test_the_api_shows_and_changes_streams(as_, stream):
    api = "/api/streams/"
    browser = as_("editor")
    (shown,) = browser.get(api, headers=HERE).json()
    assert (shown["pipeline"], shown["status"], shown["slot"]["retainedBytes"]) == ("mirror", "starting", 5_000_000)
    assert [hour["rows"] for hour in browser.get(f"{api}mirror/hours/", headers=HERE).json()] == [100, 400]
    done = browser.post(
        f"{api}mirror/pause/", json.dumps({"reason": "x"}), content_type="application/json", headers=HERE
    )
    assert (done.status_code, done.json()["status"]) == (202, "paused")
    again = browser.post(f"{api}mirror/pause/", content_type="application/json", headers=HERE)
    assert (again.status_code, again.json()["code"]) == (409, "stream.not_running")
    assert browser.get(f"{api}other/", headers=HERE).status_code == 404
