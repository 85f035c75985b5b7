"""The budget of requests: one for all processes, by the clock of Redis, and right after a process was killed."""

from __future__ import annotations

import threading
import time

import pytest
import redis

from executors.errors import Cancelled, Transient
from flowapp.backfills import rates
from flowapp.backfills.rates import SharedRate, requests_used
from ir.backfill import Rate


class Never:
    """A run that nobody cancels."""

    def check(self) -> None:
        return None

    def on_cancel(self, interrupt) -> None:
        return None


class Cancels(Never):
    def check(self) -> None:
        raise Cancelled("run.cancelled", "The run was cancelled by a person.")


@pytest.fixture
def shared(settings, redis_url):
    settings.REDIS_URL = redis_url
    with redis.Redis.from_url(redis_url) as client:
        client.delete(*client.keys("flow:rate:*") or ["none"])
    return redis_url


def take_for(seconds: float, budgets: list[SharedRate]) -> int:
    """Take requests with each budget in a thread of its own, as fast as they allow; return how many."""
    ends, taken = time.monotonic() + seconds, []

    def work(budget: SharedRate) -> None:
        while time.monotonic() < ends:
            budget.take()
            taken.append(time.monotonic())

    threads = [threading.Thread(target=work, args=(budget,)) for budget in budgets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(at <= ends for at in taken)


@pytest.mark.parametrize("where", ["redis", "process"])
def test_several_takers_together_stay_within_the_rate(shared, settings, where):
    settings.REDIS_URL = shared if where == "redis" else ""
    rate = Rate(50, 1)
    taken = take_for(1.0, [SharedRate(f"several-{where}", rate, Never()) for _ in range(4)])
    assert 40 <= taken <= 51


def test_the_first_request_does_not_wait_and_unused_ones_are_not_saved_up(shared):
    budget = SharedRate("first", Rate(10, 1), Never())
    began = time.monotonic()
    budget.take()
    assert time.monotonic() - began < 0.09
    time.sleep(0.3)
    began = time.monotonic()
    for _ in range(3):
        budget.take()
    assert time.monotonic() - began >= 0.19


def test_a_wrong_clock_of_a_worker_changes_nothing(shared, monkeypatch):
    budget = SharedRate("clock", Rate(20, 1), Never())
    budget.take()
    wrong = time.time() + 60
    monkeypatch.setattr(time, "time", lambda: wrong)
    began = time.monotonic()
    budget.take()
    assert 0.02 < time.monotonic() - began < 0.5


def test_a_process_that_dies_while_it_waits_costs_the_others_at_most_a_second(shared):
    rate = Rate(2, 1)
    for _ in range(5):  # five processes that reserve and never send
        SharedRate("dead", rate, Never())._reserve(1)
    began = time.monotonic()
    SharedRate("dead", rate, Never()).take()
    assert time.monotonic() - began < rates.MOST_AHEAD + 1.0


def test_a_cancelled_run_stops_waiting(shared):
    rate = Rate(1, 3600)
    SharedRate("cancel", rate, Never()).take()
    began = time.monotonic()
    with pytest.raises(Cancelled):
        SharedRate("cancel", rate, Cancels()).take()
    assert time.monotonic() - began < 1


def test_without_an_answer_of_redis_no_request_is_sent(settings):
    settings.REDIS_URL = "redis://127.0.0.1:1"
    with pytest.raises(Transient) as unknown:
        SharedRate("none", Rate(1, 1), Never()).take()
    assert unknown.value.code == "backfill.rate_unknown"


def test_the_used_requests_of_the_last_period_are_known(shared):
    rate = Rate(1000, 60)
    assert requests_used("used", rate) == 0
    budget = SharedRate("used", rate, Never())
    budget.take(5)
    budget.take(2)
    assert requests_used("used", rate) == 7
