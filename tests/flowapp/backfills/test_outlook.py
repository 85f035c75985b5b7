"""The sentence below the settings of a backfill."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from flowapp.backfills.outlook import describe_chunks

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("backfill", "sentence"),
    [
        (None, ""),
        ({"window": "never"}, ""),
        (
            {"window": "30d", "startFrom": "2010-01-01", "parallelism": 4},
            "195 chunks of 30 days from 2010-01-01 until now, 4 at a time.",
        ),
        (
            {"window": "1m", "startFrom": "2010-01-01"},
            "That is 8,415,360 chunks until now, and 10,000 are allowed: use a longer window.",
        ),
        (
            {"window": "12h"},
            "One chunk for each 12 hours, from the first row of the source on, one after the other. "
            "The first run counts them.",
        ),
        (
            {"window": 50000, "startFrom": 7, "parallelism": 2},
            "One chunk for each 50,000 values of the cursor, from 7 on, 2 at a time. The first run counts them.",
        ),
        (
            {},
            "Chunks of a length that suits the source, from the first row of the source on, one after the other. "
            "The first run counts them.",
        ),
    ],
)
def test_a_backfill_is_described_as_far_as_it_is_known_without_the_source(backfill, sentence):
    assert describe_chunks(backfill, NOW) == sentence
