"""The steps of a run for its page: finished steps, the current one, and the next ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from executors.api import STEP_LABELS, list_steps
from flowapp.pipelines.documents import read_document
from flowapp.runs.models import UNSUCCESSFUL, Run, State
from flowapp.runs.run_kinds import run_kind_of
from flowapp.runs.timeline import StepTime, read_timeline
from ir.connectors import CONNECTORS
from ir.connectors.base import Connector
from ir.errors import FlowError
from ir.nodes import Source

LIST, SCAN = "list", "scan"
"""The names of the first two steps with a source."""


@dataclass(frozen=True, slots=True)
class StepRow:
    """A step. `state` is `done`, `now`, `to come`, `failed` or `stopped`; `width` is in percent of the longest step."""

    label: str
    state: str
    attempt: int = 0
    node: str = ""
    began: datetime | None = None
    seconds: float | None = None
    rows: int | None = None
    rows_per_second: int | None = None
    width: float = 0
    note: str = ""


def list_step_rows(run: Run) -> list[StepRow]:
    """Return every step of every attempt, followed by the usual next steps if the run is running."""
    times, connectors = read_timeline(run.timeline), connectors_of(run.document)
    is_running = run.state == State.RUNNING
    seconds = [_seconds(time, is_last=index == len(times) - 1, run=run) for index, time in enumerate(times)]
    longest = max((value for value in seconds if value is not None), default=0) or 1
    rows = [
        StepRow(
            _label(time, connectors),
            _state(time, is_last=index == len(times) - 1, run=run),
            time.attempt,
            time.node,
            time.began_at,
            value,
            time.rows,
            time.rows_per_second,
            max(0.5, 100 * (value or 0) / longest),
            time.note,
        )
        for index, (time, value) in enumerate(zip(times, seconds, strict=True))
    ]
    return [*rows, *_to_come(run, times, connectors.values())] if is_running else rows


def connectors_of(document: str) -> dict[str, Connector]:
    """Return the connectors of the sources of a saved document; none if this release cannot parse it."""
    try:
        pipeline = read_document(document)
    except FlowError:
        return {}
    return {node.id: CONNECTORS[node.connector] for node in pipeline.nodes if isinstance(node, Source)}


def _label(time: StepTime, connectors: Mapping[str, Connector]) -> str:
    """Return the name of a step. The first one with a source depends on what the source is."""
    if time.name == LIST and time.node in connectors:
        return connectors[time.node].first_step
    return STEP_LABELS.get(time.name, time.name.capitalize())


def _seconds(time: StepTime, *, is_last: bool, run: Run) -> float | None:
    """Return the duration so far; None for a step whose worker stopped."""
    if time.seconds is not None or not is_last or run.state != State.RUNNING:
        return time.seconds
    return max(0.0, (timezone.now() - time.began_at).total_seconds())


def _state(time: StepTime, *, is_last: bool, run: Run) -> str:
    if is_last and run.state == State.RUNNING and time.attempt == run.attempt:
        return "now"
    if is_last and run.state in UNSUCCESSFUL:
        return "failed"
    return "done" if time.ms is not None else "stopped"


def _to_come(run: Run, times: Sequence[StepTime], connectors: Collection[Connector]) -> list[StepRow]:
    usual = [step for step in list_steps(run_kind_of(run).name) if not step.occasional]
    if connectors and all(one.reads != "files" for one in connectors):
        usual = [step for step in usual if step.name != SCAN]
    names = [step.name for step in usual]
    newest = [time.name for time in times if time.attempt == run.attempt]
    at = max((names.index(name) for name in newest if name in names), default=-1)
    first = {one.first_step for one in connectors}
    opening = first.pop() if len(first) == 1 else STEP_LABELS[LIST]
    return [StepRow(opening if step.name == LIST else step.label, "to come") for step in usual[at + 1 :]]
