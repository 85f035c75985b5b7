"""Phases change only by the rules of one table."""

from __future__ import annotations

import pytest

from flowapp.backfills.phases import RULES, Event, Phase, next_phase


def test_a_history_is_planned_loaded_and_then_followed():
    phase = None
    passed = []
    for event in (Event.STARTED, Event.PLANNED, Event.CHUNK_ENDED, Event.CAUGHT_UP, Event.REWOUND):
        phase = next_phase(phase, event)
        passed.append(phase)
    assert passed == [Phase.PLANNING, Phase.BACKFILLING, Phase.BACKFILLING, Phase.STREAMING, Phase.PLANNING]


@pytest.mark.parametrize("phase", [None, *Phase])
@pytest.mark.parametrize("event", list(Event))
def test_an_event_without_a_rule_is_an_error(phase, event):
    if (phase, event) in RULES:
        assert next_phase(phase, event) is RULES[phase, event]
        return
    with pytest.raises(ValueError, match=event):
        next_phase(phase, event)
