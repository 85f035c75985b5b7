"""The kinds of alert: their titles, and what resolves each automatically."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ir.kinds import KindTable

Event = Literal[
    "run.succeeded",
    "hooks.done",
    "worker.seen",
    "queue.empty",
    "schedule.on_time",
    "schedules.on_time",
    "fence.raised",
    "hold.decided",
    "schema.decided",
    "person",
    "rows.in_band",
    "channel.delivered",
    "project.applied",
    "stream.started",
    "stream.caught_up",
    "slot.safe",
    "slot.ready",
    "task.succeeded",
]

EVENTS: dict[Event, str] = {
    "run.succeeded": "the next successful run of the pipeline",
    "hooks.done": "the next load whose hooks all succeed, or a rerun of the hook",
    "worker.seen": "a worker that sends a heartbeat",
    "queue.empty": "a queue without runs that wait too long",
    "schedule.on_time": "the next scheduled run that starts on time",
    "schedules.on_time": "the next scheduled runs of the workspace that start on time",
    "fence.raised": "an answer from the target",
    "hold.decided": "a decision about the held load, or its end",
    "schema.decided": "a decision about the change, or a load that does not need it",
    "person": "a person",
    "rows.in_band": "the next load with an expected row count",
    "channel.delivered": "the next message that the channel accepts",
    "project.applied": "the next time that `flow serve` applies the project without problems",
    "stream.started": "the next window that the stream loads",
    "stream.caught_up": "a stream that catches up with its source",
    "slot.safe": "a slot that holds less log, or that is gone",
    "slot.ready": "a new snapshot, which makes a new slot",
    "task.succeeded": "the next time that the task succeeds for the pipeline",
}
"""What resolves an alert, as a completion of `Resolved by …`."""


@dataclass(frozen=True, slots=True)
class AlertKind:
    """A kind of alert. `hint` says what to do. `resolved_by` is the event that resolves alerts of this kind; with
    `person` only people resolve them.

    Alerts without `is_sent` go to no channel: a failing channel cannot report its own failure.
    """

    kind: str
    title: str
    hint: str
    resolved_by: Event
    is_sent: bool = True

    @property
    def resolver(self) -> str:
        """Return a description of what resolves such alerts."""
        return EVENTS[self.resolved_by]


KINDS = (
    AlertKind("run.failed", "A run failed", "Open the run: its error says what to do.", "run.succeeded"),
    AlertKind("run.held", "A load needs approval", "Approve or discard the load on the run's page.", "hold.decided"),
    AlertKind(
        "schema.pending",
        "Columns of a source have changed",
        "Accept or reject the change on the page Schema changes, then run the pipeline again.",
        "schema.decided",
    ),
    AlertKind(
        "worker.lost",
        "A worker stopped during a run",
        "See the worker's log; its machine may have run out of memory.",
        "run.succeeded",
    ),
    AlertKind("workers.none", "No worker is running", "Start a worker, such as by `flow up`.", "worker.seen"),
    AlertKind("queue.stuck", "Runs wait for too long", "Add a worker, or check the broker.", "queue.empty"),
    AlertKind(
        "schedule.missed",
        "A schedule was missed",
        "Find out why no scheduler was running, or run the pipeline less often.",
        "schedule.on_time",
    ),
    AlertKind(
        "schedules.missed",
        "Many schedules were missed",
        "Find out why no scheduler or no worker was running.",
        "schedules.on_time",
    ),
    AlertKind(
        "schedule.broken",
        "A schedule cannot be read",
        "Correct what the message names, and save the pipeline again.",
        "schedule.on_time",
    ),
    AlertKind(
        "target.unreachable_for_fence",
        "A target does not answer whether a load was committed",
        "Make the target available again; the run then finishes by itself.",
        "fence.raised",
    ),
    AlertKind(
        "staging.leftovers",
        "Staging tables of lost attempts were dropped",
        "Nothing needs to be done. If workers stop often, see their logs.",
        "person",
    ),
    AlertKind(
        "backfill.chunk_failed",
        "A chunk of a backfill failed",
        "Correct the cause, then retry the failed chunks on the page of the backfill.",
        "run.succeeded",
    ),
    AlertKind(
        "pipeline.task_failed",
        "Periodic work for a pipeline failed",
        "See the logs of the scheduler and the workers at this time. The work is tried again every minute.",
        "task.succeeded",
    ),
    AlertKind("source.missed", "No file was found", "Check whether the sender has stopped.", "run.succeeded"),
    AlertKind("source.empty", "A source was empty", "Check whether the sender has lost its data.", "run.succeeded"),
    AlertKind(
        "quarantine.unwritable",
        "Rejected rows could not be stored",
        "Correct what the message names, and run again.",
        "run.succeeded",
    ),
    AlertKind(
        "hook.failed",
        "A hook failed after the load",
        "Correct the cause, and rerun the hook on the run's page.",
        "hooks.done",
    ),
    AlertKind(
        "rows.out_of_band",
        "A load had an unusual row count",
        "Compare the source with its usual content. If the new count is normal, widen expectedRowCountDelta.",
        "rows.in_band",
    ),
    AlertKind(
        "cleanup.failed",
        "Data of a deleted pipeline was not removed",
        "Have the owner of the database delete what stays there.",
        "person",
    ),
    AlertKind(
        "project.not_applied",
        "A project is not applied",
        "Correct what the message names. `flow plan` shows what differs.",
        "project.applied",
    ),
    AlertKind(
        "stream.stopped",
        "A stream has stopped",
        "Correct what the message names, then resume the stream.",
        "stream.started",
    ),
    AlertKind(
        "stream.lagging",
        "A stream is behind its source",
        "See the page Streams: a worker for streams may be missing, or the source changes faster than rows are loaded.",
        "stream.caught_up",
    ),
    AlertKind(
        "slot.at_risk",
        "The log that a stream needs is at risk, or fills a disk",
        "Let the stream catch up, or drop its slot: the disk of the source may fill up, or log be lost.",
        "slot.safe",
    ),
    AlertKind(
        "slot.lost",
        "The log that a stream needs is lost",
        "Approve a new snapshot on the page Streams: the changes since the last window are no longer in the log.",
        "slot.ready",
    ),
    AlertKind(
        "channel.failing",
        "A channel does not accept messages",
        "Correct the channel, send a test, and resend the failed messages from its log.",
        "channel.delivered",
        is_sent=False,
    ),
)

ALERT_KINDS: KindTable[AlertKind] = KindTable("alert kind", ((kind.kind, kind) for kind in KINDS))


def kinds_ended_by(event: Event) -> list[str]:
    return [kind.kind for kind in KINDS if kind.resolved_by == event]


def title_of(kind: str) -> str:
    return ALERT_KINDS[kind].title


def ended_by(kind: str) -> str:
    """Return a description of what resolves such an alert automatically."""
    return EVENTS[ALERT_KINDS[kind].resolved_by]
