"""A stream that follows a table of MariaDB, with the real engine: its log has no slot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from executors.runs import stream as stream_runs
from flowapp.alerts.models import Alert
from flowapp.connections.services import add_connection
from flowapp.connections.store_fields import StoreFields
from flowapp.pipelines.services import save_version
from flowapp.runs.leases import interrupt_all
from flowapp.runs.models import State, Trigger
from flowapp.runs.services import queue_run
from flowapp.streams import log_files
from flowapp.streams.models import Stream, StreamHour, StreamState
from flowapp.streams.selectors import view_of
from flowapp.streams.services import pause_stream, resnapshot, resume_stream
from flowapp.streams.watching import drop_slot, refuse_deletion, watch_streams
from ir.errors import FlowError
from tests.executors.mysql_cdc.conftest import log, logged
from tests.executors.mysql_cdc.log_of_table import TableLog
from tests.flowapp.streams.conftest import following
from tests.flowapp.streams.test_whole_way import Worker, has, sent, wait_for

__all__ = ["log", "logged", "sent"]

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.spark, pytest.mark.usefixtures("sent")]


@pytest.fixture
def followed(connected: Any, schema: str, log: TableLog, settings: Any, tmp_path: Path) -> Any:
    """The pipeline, whose source is a table with two rows."""
    settings.FILES_ROOT = tmp_path
    log.run("CREATE TABLE s (id int primary key, name text)", "INSERT INTO s VALUES (1, 'a'), (2, 'b')")
    shop = log.connection()
    add_connection(connected, "shop", StoreFields("mysql", shop.settings, shop.secrets))
    document = following(schema)
    document["nodes"][0] |= {"connector": "mysql_cdc", "connection": "shop", "config": {"table": {"name": "s"}}}
    return save_version(connected, json.dumps(document)).pipeline


def alerts() -> set[str]:
    return set(Alert.objects.filter(state="open").values_list("kind", flat=True))


def test_a_stream_loads_changes_until_it_is_paused(followed, log, rows, as_, monkeypatch):
    windows: list[float] = []
    run_window = stream_runs.run_pipeline
    monkeypatch.setattr(stream_runs, "run_pipeline", lambda *given: windows.append(1) or run_window(*given))
    run = queue_run(followed, Trigger.MANUAL)
    worker = Worker(run)
    wait_for(has(rows, (1, "a"), (2, "b")))
    log.run("DELETE FROM s WHERE id = 2", "UPDATE s SET name = 'x' WHERE id = 1")
    wait_for(has(rows, (1, "x")))
    wait_for(lambda: StreamHour.objects.filter(deleted=1, updated=1))

    # Without changes it runs no windows, and is current.
    wait_for(lambda: len(windows) == 3)
    idle_since = Stream.objects.get().current_to
    wait_for(lambda: Stream.objects.get().current_to > idle_since)
    assert len(windows) == 3
    watch_streams()
    view = view_of(Stream.objects.get())
    assert (view.stream.slot["status"], view.stream.slot["behind_bytes"], alerts()) == ("file", 0, set())
    assert (view.status, view.needs_snapshot, view.can_drop, view.lag < 60) == ("running", False, False, True)
    page = as_("admin").get("/w/alices-team/streams/mirror/").content.decode()
    assert "read in bin.0" in page
    assert "slot" not in page.split("<main")[1].lower().replace("streams:drop_slot", "")

    pause_stream(Stream.objects.get(), "alice", "maintenance")
    worker.join(60)
    run.refresh_from_db()
    assert (run.state, run.rows_loaded, Stream.objects.get().state) == (State.SUCCEEDED, 3, StreamState.PAUSED)
    with pytest.raises(FlowError, match="no slot"):
        drop_slot(Stream.objects.get(), "alice", "")
    refuse_deletion(followed)


@pytest.mark.slow
def test_a_log_that_its_server_removes_is_warned_of_and_needs_a_new_snapshot(followed, log, rows, monkeypatch):
    run = queue_run(followed, Trigger.MANUAL)
    worker = Worker(run)
    wait_for(has(rows, (1, "a"), (2, "b")))
    pause_stream(Stream.objects.get(), "alice", "maintenance")
    worker.join(60)

    # A paused stream is warned of before the log is removed, and goes on.
    log.run("INSERT INTO s VALUES (3, 'c')", "FLUSH BINARY LOGS", "SET GLOBAL binlog_expire_logs_seconds = 3600")
    try:
        watch_streams()
        assert alerts() == set()
        assert 3000 < Stream.objects.get().slot["left_seconds"] <= 3600
        monkeypatch.setattr(log_files, "LEFT_SHARE", 1.1)
        watch_streams()
        assert alerts() == {"slot.at_risk"}
    finally:
        log.run("SET GLOBAL binlog_expire_logs_seconds = 0")
    worker = Worker(resume_stream(Stream.objects.get(), "alice"))
    wait_for(has(rows, (1, "a"), (2, "b"), (3, "c")))
    wait_for(lambda: not (watch_streams() or alerts()))
    pause_stream(Stream.objects.get(), "alice", "maintenance")
    worker.join(60)

    # The log is removed: the stream stops with the reason, and only a new snapshot continues it.
    log.run("INSERT INTO s VALUES (4, 'd')", "FLUSH BINARY LOGS", "FLUSH BINARY LOGS")
    log.forget_files()
    watch_streams()
    assert (alerts(), view_of(Stream.objects.get()).needs_snapshot) == ({"slot.lost"}, True)
    run = resume_stream(Stream.objects.get(), "alice")
    Worker(run).join(120)
    run.refresh_from_db()
    assert (run.state, run.error_code) == (State.FAILED, "cdc.log_missing")
    worker = Worker(resnapshot(Stream.objects.get(), "alice", "the log was removed", Trigger.MANUAL))
    wait_for(has(rows, (1, "a"), (2, "b"), (3, "c"), (4, "d")))
    wait_for(lambda: not (watch_streams() or alerts()))
    interrupt_all()
    worker.join(60)
