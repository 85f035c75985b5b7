"""What the processes of `make test` get first."""

from __future__ import annotations

import pytest

from tests.order import in_pieces

LONG = ["s/1", "s/2", "t/1"]
QUICK = [f"q/{number}" for number in range(12)]


def module(test: str) -> str:
    return test[0]


def test_each_process_begins_with_long_tests_as_far_as_there_are_any():
    ordered = in_pieces(LONG, QUICK, module, 3)
    pieces = ordered[:5], ordered[5:10], ordered[10:]
    assert ["".join(map(module, piece)) for piece in pieces] == ["ssqqq", "tqqqq", "qqqqq"]


@pytest.mark.parametrize("processes", [1, 2, 3, 8])
@pytest.mark.parametrize("quick", [[], QUICK])
def test_every_test_stays_once(quick, processes):
    ordered = in_pieces(LONG, quick, module, processes)
    assert sorted(ordered) == sorted([*LONG, *quick])
