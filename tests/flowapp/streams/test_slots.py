"""Which slots are watched, and what is dropped with them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from executors.model import Connection
from flowapp.pipelines.services import save_version, set_enabled
from flowapp.runs.events import load_requested
from flowapp.runs.models import RunKind, Trigger
from flowapp.runs.services import queue_run
from flowapp.streams.models import Stream, StreamState
from flowapp.streams.services import start_streams
from flowapp.streams.watching import drop_slot, slot_of, watch_streams
from tests.databases import connect_to
from tests.flowapp.streams.conftest import following

pytestmark = [pytest.mark.django_db, pytest.mark.postgres]


def create_slot(source: Connection, stream: Stream, publication: str) -> None:
    with connect_to(source) as connection:
        connection.execute(f"create publication {publication} for table s")
        connection.execute("select pg_create_logical_replication_slot(%s, 'pgoutput')", [slot_of(stream)])


def names_at(source: Connection) -> set[str]:
    query = (
        "select slot_name from pg_replication_slots where database = current_database()"
        " union select pubname from pg_publication"
    )
    with connect_to(source) as connection:
        return {name for (name,) in connection.execute(query)}


def test_a_requested_load_starts_the_stream_only_with_its_run(mirrored: Any) -> None:
    kinds = [kind for kind in load_requested(mirrored, Trigger.MANUAL, False) if kind]
    assert kinds == [RunKind.STREAM]
    assert not Stream.objects.exists()
    queue_run(mirrored, Trigger.MANUAL, send=False)
    assert Stream.objects.get().state == StreamState.RUNNING


def test_the_slot_of_a_pipeline_that_only_the_command_line_runs_is_watched(followed: Any, source: Connection) -> None:
    assert queue_run(followed, Trigger.CLI, send=False).kind == RunKind.LOAD
    stream = Stream.objects.select_related("pipeline").get()
    create_slot(source, stream, "p")
    watch_streams()
    stream.refresh_from_db()
    assert (stream.slot["status"], stream.state, start_streams()) == ("reserved", StreamState.MANUAL, 0)


@pytest.mark.parametrize("named", [None, "p"])
def test_a_publication_is_dropped_with_the_slot_only_if_flow_has_created_it(
    followed: Any, source: Connection, schema: str, named: str | None
) -> None:
    if named:
        document = following(schema)
        document["nodes"][0]["config"]["publication"] = named
        save_version(followed.workspace, json.dumps(document))
    queue_run(followed, Trigger.CLI, send=False).delete()
    set_enabled(followed, False)
    stream = Stream.objects.select_related("pipeline").get()
    create_slot(source, stream, named or slot_of(stream))
    drop_slot(stream, "a person", "It is not needed.")
    assert names_at(source) == ({named} if named else set())
