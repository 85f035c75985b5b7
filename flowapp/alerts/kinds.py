"""The kinds of alert: what each is called, and what resolves it by itself."""

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
    "fence.raised",
    "hold.decided",
    "person",
    "rows.in_band",
    "channel.delivered",
]

EVENTS: dict[Event, str] = {
    "run.succeeded": "the next successful run of the pipeline",
    "hooks.done": "the next load whose hooks all succeed, or a rerun of the hook",
    "worker.seen": "a worker that sends a heartbeat",
    "queue.empty": "a queue without runs that wait too long",
    "schedule.on_time": "the next scheduled run that starts on time",
    "fence.raised": "an answer from the target",
    "hold.decided": "a decision about the held load, or its end",
    "person": "a person",
    "rows.in_band": "the next load with an expected row count",
    "channel.delivered": "the next message that the channel accepts",
}
"""What ends an alert, in words that go on from `Resolved by`."""


@dataclass(frozen=True, slots=True)
class AlertKind:
    """`resolved_by` is the event that ends alerts of this kind; `person` means that only people do.

    What is not `told` goes to no channel: a channel that fails would be told of by those that may fail as well.
    """

    kind: str
    title: str
    resolved_by: Event
    is_sent: bool = True

    @property
    def resolver(self) -> str:
        """What resolves such alerts, in words."""
        return EVENTS[self.resolved_by]


KINDS = (
    AlertKind("run.failed", "A run failed", "run.succeeded"),
    AlertKind("run.held", "A load needs approval", "hold.decided"),
    AlertKind("worker.lost", "A worker stopped during a run", "run.succeeded"),
    AlertKind("workers.none", "No worker is running", "worker.seen"),
    AlertKind("queue.stuck", "Runs wait for too long", "queue.empty"),
    AlertKind("schedule.missed", "A schedule was missed", "schedule.on_time"),
    AlertKind("schedule.broken", "A schedule cannot be read", "schedule.on_time"),
    AlertKind("target.unreachable_for_fence", "A target does not answer whether a load was committed", "fence.raised"),
    AlertKind("staging.leftovers", "Staging tables of lost attempts were dropped", "person"),
    AlertKind("source.missed", "No file was found", "run.succeeded"),
    AlertKind("source.empty", "A source was empty", "run.succeeded"),
    AlertKind("quarantine.unwritable", "Rejected rows could not be stored", "run.succeeded"),
    AlertKind("hook.failed", "A hook failed after the load", "hooks.done"),
    AlertKind("rows.out_of_band", "A load had an unusual row count", "rows.in_band"),
    AlertKind("remains.stay", "Data of a deleted pipeline was not removed", "person"),
    AlertKind("channel.failing", "A channel does not accept messages", "channel.delivered", is_sent=False),
)

ALERT_KINDS: KindTable[AlertKind] = KindTable("alert kind", ((kind.kind, kind) for kind in KINDS))


def kinds_ended_by(event: Event) -> list[str]:
    return [kind.kind for kind in KINDS if kind.resolved_by == event]


def title_of(kind: str) -> str:
    return ALERT_KINDS[kind].title


def ended_by(kind: str) -> str:
    """What resolves such an alert by itself, in words."""
    return EVENTS[ALERT_KINDS[kind].resolved_by]
