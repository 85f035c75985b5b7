"""The phases of a pipeline with a backfill, and the only rules by which they change."""

from __future__ import annotations

from enum import StrEnum, auto


class Phase(StrEnum):
    """`planning`: the source is asked for its history, and nothing is loaded. `backfilling`: chunks are loaded.
    `streaming`: the history is loaded, and scheduled runs load what is new."""

    PLANNING = auto()
    BACKFILLING = auto()
    STREAMING = auto()


class Event(StrEnum):
    STARTED = auto()
    PLANNED = auto()
    CHUNK_ENDED = auto()
    CAUGHT_UP = auto()
    REWOUND = auto()
    GIVEN_UP = auto()


RULES: dict[tuple[Phase | None, Event], Phase] = {
    (None, Event.STARTED): Phase.PLANNING,
    (Phase.PLANNING, Event.PLANNED): Phase.BACKFILLING,
    (Phase.BACKFILLING, Event.CHUNK_ENDED): Phase.BACKFILLING,
    (Phase.BACKFILLING, Event.CAUGHT_UP): Phase.STREAMING,
    (Phase.STREAMING, Event.REWOUND): Phase.PLANNING,
    # A plan that cannot be finished is replaced.
    (Phase.PLANNING, Event.REWOUND): Phase.PLANNING,
    (Phase.BACKFILLING, Event.REWOUND): Phase.PLANNING,
    # A range that cannot be planned changes nothing: the history stays loaded.
    (Phase.PLANNING, Event.GIVEN_UP): Phase.STREAMING,
}
"""The phase that follows on an event; None is the phase of a pipeline that has never been backfilled."""


def next_phase(phase: Phase | str | None, event: Event) -> Phase:
    """Return the phase after the event. Raises ValueError for an event that the phase does not allow."""
    known = None if phase is None else Phase(phase)
    if (known, event) not in RULES:
        raise ValueError(f"A pipeline in the phase {known or 'none'} cannot get the event {event}.")
    return RULES[known, event]
