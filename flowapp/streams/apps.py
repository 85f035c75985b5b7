"""Django's name of this app, and what it registers with those below it."""

from __future__ import annotations

from django.apps import AppConfig

from flowapp.registrations import Registers

STREAMS = "streams"
"""The thread of the task that queries the sources of streams, and may wait for each that does not answer."""


class StreamsConfig(Registers, AppConfig):
    name = "flowapp.streams"

    def register(self) -> None:
        from flowapp.pipelines import deletion
        from flowapp.processes import periodic, retention
        from flowapp.runs import events, run_kinds
        from flowapp.streams import services, watching
        from flowapp.streams.counting import count_window
        from flowapp.streams.models import StreamChange, StreamHour
        from flowapp.streams.run_kinds import STREAM

        run_kinds.register(STREAM)
        events.load_requested.register(services.stream_instead)
        events.run_queued.register(services.note_queued)
        events.schedules_due.register(services.start_due)
        events.load_committed.register(count_window)
        events.run_ended.register(services.note_end)
        deletion.before_deletion.register(watching.refuse_deletion)
        retention.register(
            retention.Retention("Counts of streams by the hour", StreamHour, "hour", 90),
            retention.Retention("Changes of streams", StreamChange, "at", 730),
        )
        periodic.register(
            periodic.Task("start streams", lambda _: services.start_streams()),
            periodic.Task("watch streams", lambda _: watching.watch_if_enabled(), 15, STREAMS),
        )
