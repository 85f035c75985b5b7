"""The kind of run that follows a stream."""

from __future__ import annotations

from flowapp.runs.models import RunKind
from flowapp.runs.run_kinds import RunKindSpec
from flowapp.streams.control import add_to_ports, follow

STREAM = RunKindSpec(
    RunKind.STREAM,
    "runs/detail.html",
    "runs/_live.html",
    tag="stream",
    again="Start the stream",
    own_engine=follow,
    add_to_ports=add_to_ports,
    repeats=True,
    failed_alert="stream.stopped",
)
