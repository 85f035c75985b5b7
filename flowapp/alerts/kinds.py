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
    "run.succeeded": "the next run of the pipeline that succeeds",
    "hooks.done": "the next load whose hooks all succeed, or the hook that is run again",
    "worker.seen": "a worker that is heard of",
    "queue.empty": "no run that waits for too long",
    "schedule.on_time": "the next scheduled run that starts on time",
    "fence.raised": "the target that answers again",
    "hold.decided": "the decision about the held load, or its end",
    "person": "a person only",
    "rows.in_band": "the next load with as many rows as expected",
    "channel.delivered": "the next message that the channel takes",
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
    told: bool = True

    @property
    def resolver(self) -> str:
        """What resolves such alerts, in words."""
        return EVENTS[self.resolved_by]


KINDS = (
    AlertKind("run.failed", "A run failed", "run.succeeded"),
    AlertKind("run.held", "A load is held", "hold.decided"),
    AlertKind("worker.lost", "A worker was lost in a run", "run.succeeded"),
    AlertKind("workers.none", "No worker is alive", "worker.seen"),
    AlertKind("queue.stuck", "Runs wait for too long", "queue.empty"),
    AlertKind("schedule.missed", "A scheduled run was missed", "schedule.on_time"),
    AlertKind("schedule.broken", "A schedule cannot be followed", "schedule.on_time"),
    AlertKind("target.unreachable_for_fence", "A target cannot be asked what it has loaded", "fence.raised"),
    AlertKind("staging.leftovers", "Staging of dead attempts was dropped", "person"),
    AlertKind("source.missed", "No file came", "run.succeeded"),
    AlertKind("source.empty", "A source was empty", "run.succeeded"),
    AlertKind("quarantine.unwritable", "Rejected rows could not be kept", "run.succeeded"),
    AlertKind("hook.failed", "A hook failed after the load", "hooks.done"),
    AlertKind("rows.out_of_band", "A load had unusually many or few rows", "rows.in_band"),
    AlertKind("remains.stay", "What a deleted pipeline left stays where it is", "person"),
    AlertKind("channel.failing", "A channel takes no messages", "channel.delivered", told=False),
)

ALERT_KINDS: KindTable[AlertKind] = KindTable("alert kind", ((kind.kind, kind) for kind in KINDS))


def kinds_ended_by(event: Event) -> list[str]:
    return [kind.kind for kind in KINDS if kind.resolved_by == event]


def title_of(kind: str) -> str:
    return ALERT_KINDS[kind].title


def ended_by(kind: str) -> str:
    """What resolves such an alert by itself, in words."""
    return EVENTS[ALERT_KINDS[kind].resolved_by]
