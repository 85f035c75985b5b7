"""Work that waits is done several times at once, in order and in bounded number."""

from __future__ import annotations

import threading
import time

import pytest

from executors.formats.ahead import read_ahead


def test_results_come_in_order_whichever_is_ready_first() -> None:
    def slow_if_even(number: int) -> int:
        time.sleep(0.01 if number % 2 == 0 else 0)
        return number

    assert list(read_ahead(slow_if_even, range(20), most=4)) == list(range(20))


def test_no_more_items_are_in_progress_than_allowed() -> None:
    started = 0

    def start(number: int) -> int:
        nonlocal started
        started += 1
        return number

    results = read_ahead(start, range(100), most=3)
    for taken in range(1, 4):
        next(results)
        time.sleep(0.02)
        assert started <= taken + 3
    results.close()
    assert started <= 6


def test_items_are_worked_on_at_the_same_time() -> None:
    meeting = threading.Barrier(4, timeout=10)
    list(read_ahead(lambda number: meeting.wait(), range(8), most=4))


def test_the_first_error_is_raised() -> None:
    def fail(number: int) -> int:
        if number in (2, 3):
            raise ValueError(number)
        return number

    results = read_ahead(fail, range(10), most=4)
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(ValueError, match="2"):
        next(results)
